package extsort

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestPlanWaitsForTheDisk: what the system keeps in memory costs nothing, and more of it makes the strategy win that spills less.
func TestPlanWaitsForTheDisk(t *testing.T) {
	const records = 1 << 31 // 16 GiB
	p := planner{
		work:  work{records: records, size: 8, bare: true, workers: 16},
		rates: defaultRates, records: records, capacity: 1 << 26, cut: cutting{runs: 34, stays: 1 << 24}, fanIn: 64, fanOut: 64, merges: true,
	}
	of := func(s Strategy) float64 {
		for _, c := range p.weigh(Auto) {
			if c.Strategy == s {
				return c.Seconds
			}
		}
		t.Fatalf("%s is not weighed", s)
		return 0
	}
	merge, partition := of(MergeRuns), of(Partition)
	p.disk = diskCosts{holds: 40 << 30, spills: true, outputs: true}
	if of(MergeRuns) != merge || of(Partition) != partition {
		t.Error("what stays in memory is waited for")
	}
	p.disk.holds = 20 << 30
	waited := of(Partition) - partition
	if want := 12.0 * (1 << 30) / 1.5e9; waited < want-0.1 || waited > want+0.1 {
		t.Errorf("%.1f s are waited for 12 GiB, %.1f are due", waited, want)
	}
	p.disk.outputs = false // 16 GiB less are written
	if of(Partition) != partition {
		t.Error("an output that is not written here is waited for")
	}
	p.disk.outputs, p.disk.spills = true, false
	if of(Partition) != partition {
		t.Error("spill that goes to no disk is waited for")
	}
	p.disk.spills = true
	plain := of(MergeRuns)
	p.disk.packed, p.disk.keeps, p.disk.columns = true, 0.65, 1
	if packed := of(MergeRuns); packed > plain-3 || packed >= of(Partition) {
		t.Errorf("a merge takes %.1f s, %.1f with packed runs, a partition %.1f", plain, packed, of(Partition))
	}
}

// TestSpillFitsTheRoom sorts with less room for spill than the records take: they are packed, or read again, and the plan says so.
func TestSpillFitsTheRoom(t *testing.T) {
	if format.NewPacker(format.Bare(format.Type{Kind: format.Unsigned, Size: 8})) == nil {
		t.Skip("nothing is packed on this machine")
	}
	k := kindNamed("u64")
	r := rand.New(rand.NewPCG(11, 12))
	data := k.make(t, "uniform", 1<<16, r) // 512 KiB
	want := reference(t, k.layout(t), data, Options{})
	for _, c := range []struct {
		name     string
		free     int64
		piped    bool // the output, so that nothing can be read again
		strategy Strategy
		codec    string
	}{
		{name: "room enough", free: 1 << 20, piped: true, codec: "none"},
		{name: "room for what is packed", free: 430 << 10, piped: true, strategy: MergeRuns, codec: "delta"},
		{name: "room for nothing", free: 10 << 10, strategy: Reread},
	} {
		opt := small(Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, SpillCompress: "auto"})
		opt.faults.chunkRecords, opt.faults.blockBytes = 1<<13, 8<<10
		opt.faults.free = c.free
		var out bytes.Buffer
		if opt.Stdout = &out; !c.piped {
			opt.Output = filepath.Join(t.TempDir(), "out")
		}
		report, err := Sort(t.Context(), opt)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := out.Bytes()
		if !c.piped {
			got, _ = os.ReadFile(opt.Output)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the output is wrong", c.name)
		}
		if c.strategy != "" && report.Strategy != c.strategy || report.SpillCodec != c.codec {
			t.Errorf("%s: sorted by %s, spill compressed by %q; want %s, %q", c.name, report.Strategy, report.SpillCodec, c.strategy, c.codec)
		}
		if c.codec == "delta" && report.BytesSpilled > c.free {
			t.Errorf("%s: %d bytes were spilled, there was room for %d", c.name, report.BytesSpilled, c.free)
		}
	}
}
