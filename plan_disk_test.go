package extsort

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
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
	p.disk.packing, p.disk.keeps, p.disk.columns = packedIfItPays, 0.65, 1
	if packed := of(MergeRuns); packed > plain-3 || packed >= of(Partition) {
		t.Errorf("a merge takes %.1f s, %.1f with packed runs, a partition %.1f", plain, packed, of(Partition))
	}
}

// TestSpillIsPacked where that pays, where there is no room otherwise, and where it was asked for.
func TestSpillIsPacked(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		name            string
		disk            diskCosts
		packed, packAll bool
	}{
		{"more than stays in memory", diskCosts{packing: packedIfItPays, keeps: 0.6, stays: gib / 2}, true, false},
		{"stays in memory", diskCosts{packing: packedIfItPays, keeps: 0.6, stays: 2 * gib}, false, false},
		{"no room", diskCosts{packing: packedIfItPays, keeps: 0.6, stays: 2 * gib, limited: true, free: 700 << 20}, true, true},
		{"room for nothing", diskCosts{packing: packedIfItPays, keeps: 0.6, stays: 2 * gib, limited: true}, true, true},
		{"room but for the last pages", diskCosts{packing: packedIfItPays, keeps: 0.6, stays: 2 * gib, limited: true, free: gib}, true, true},
		{"asked for", diskCosts{packing: alwaysPacked, keeps: 0.6, stays: 2 * gib}, true, false},
		{"never", diskCosts{limited: true, free: 1}, false, false},
	} {
		var got Candidate
		c.disk.planSpill(&got, gib, 1<<20)
		if got.temp != gib || got.packAll != c.packAll || (got.stored > 0) != c.packed {
			t.Errorf("%s: %d bytes, stored as %d, packed to fit: %t", c.name, got.temp, got.stored, got.packAll)
		}
		if bytes := max(got.stored, gib/2); got.room < bytes || got.room > gib+gib/100 {
			t.Errorf("%s: room for %d", c.name, got.room)
		}
	}
}

// TestNoRoomForSpill leaves out what needs more room than there is, but not all there is.
func TestNoRoomForSpill(t *testing.T) {
	strategies := func(all []Candidate) (possible []Strategy) {
		for _, c := range all {
			if c.possible {
				possible = append(possible, c.Strategy)
			} else if c.Why == "" {
				t.Errorf("%s is left out without a word", c.Strategy)
			}
		}
		return possible
	}
	for _, c := range []struct {
		disk    diskCosts
		rereads bool
		want    []Strategy
	}{
		{diskCosts{}, true, []Strategy{MergeRuns, Partition, Reread}},
		{diskCosts{limited: true, free: 100}, true, []Strategy{MergeRuns, Partition, Reread}},
		{diskCosts{limited: true, free: 99}, true, []Strategy{MergeRuns, Reread}},
		{diskCosts{limited: true, free: 99}, false, []Strategy{MergeRuns}},
		{diskCosts{limited: true, free: 59}, true, []Strategy{Reread}},
		{diskCosts{limited: true}, true, []Strategy{Reread}},
		{diskCosts{limited: true}, false, []Strategy{MergeRuns, Partition}},
	} {
		all := []Candidate{
			{Strategy: MergeRuns, possible: true, room: 60}, {Strategy: Partition, possible: true, room: 100},
			{Strategy: Reread, possible: c.rereads, Why: "as the test has it"},
		}
		c.disk.leaveOut(all)
		if got := strategies(all); !slices.Equal(got, c.want) {
			t.Errorf("%d bytes free, can be read again: %t: %v are possible, want %v", c.disk.free, c.rereads, got, c.want)
		}
	}
}

// narrowStore has files on the disk that take so many bytes together, in pages.
type narrowStore struct {
	spill.Disk
	room, used, most atomic.Int64
}

type narrowFile struct {
	spill.File
	store *narrowStore
}

func (s *narrowStore) Free([]string) int64 { return s.room.Load() }

func (s *narrowStore) Create(folder string) (spill.File, error) {
	f, err := s.Disk.Create(folder)
	return narrowFile{f, s}, err
}

func pages(bytes int64) int64 {
	return (bytes + plan.SpillAlign - 1) / plan.SpillAlign * plan.SpillAlign
}

func (f narrowFile) WriteAt(p []byte, offset int64) (int, error) {
	used := f.store.used.Add(pages(int64(len(p))))
	f.store.most.Store(max(used, f.store.most.Load()))
	if used > f.store.room.Load() {
		return 0, syscall.ENOSPC
	}
	return f.File.WriteAt(p, offset)
}

func (f narrowFile) Reserve(int64, int64) error { return nil }

func (f narrowFile) Release(offset, bytes int64) {
	f.store.used.Add(-pages(bytes))
	f.File.Release(offset, bytes)
}

// TestSpillFitsTheRoom sorts with less and less room for spill: it is packed, or the input read again where that can be, or the sort
// refused; but none fails half way.
func TestSpillFitsTheRoom(t *testing.T) {
	if format.NewPacker(format.Bare(format.Type{Kind: format.Unsigned, Size: 8})) == nil {
		t.Skip("nothing is packed on this machine")
	}
	r := rand.New(rand.NewPCG(11, 12))
	for _, spec := range []string{"u64", "u32be"} {
		k := kindNamed(spec)
		data := k.make(t, "uniform", 1<<17, r)
		want := reference(t, k.layout(t), data, Options{})
		var codecs, strategies []string
		refused := 0
		for share := 16; share >= 0; share-- {
			for _, piped := range []bool{true, false} { // what goes to a pipe is not read again
				store := &narrowStore{}
				store.room.Store(int64(len(data)) * int64(share) / 12)
				opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, SpillCompress: "auto", MemoryBytes: 64 << 20, Workers: 2}
				opt.faults.chunkRecords, opt.faults.blockBytes = 1<<14, 32<<10
				opt.faults.spillStore = store
				var out bytes.Buffer
				if opt.Stdout = &out; !piped {
					opt.Output = filepath.Join(t.TempDir(), "out")
				}
				report, err := Sort(t.Context(), opt)
				if err != nil {
					if refused++; store.most.Load() > 0 {
						t.Errorf("%s, room for %d of %d bytes: failed half way: %v", spec, store.room.Load(), len(data), err)
					}
					continue
				}
				got := out.Bytes()
				if !piped {
					got, _ = os.ReadFile(opt.Output)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s, room for %d bytes: the output is wrong", spec, store.room.Load())
				}
				codecs, strategies = append(codecs, report.SpillCodec), append(strategies, string(report.Strategy))
			}
		}
		if !slices.Contains(codecs, "none") || !slices.Contains(codecs, "delta") || !slices.Contains(strategies, string(Reread)) || refused == 0 {
			t.Errorf("%s: compressed by %v, sorted by %v, %d refused: not all cases are there", spec, codecs, strategies, refused)
		}
	}
}
