package plan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// hostDevice returns a CPU whose chunks take little more memory than their records.
func hostDevice(size int) Device {
	return Device{Name: "cpu", Host: true, Selects: true,
		Capacity:    func(c Chunk) int64 { return (c.MemoryBytes - c.MemoryBytes/16) / int64(size) },
		StoredBlock: func(c Chunk, _ int64) int { return c.BlockBytes }}
}

// gpuDevice returns a GPU whose memory holds the given number of bytes of records.
func gpuDevice(size int, memory int64) Device {
	return Device{Name: "gpu", GPU: true, Memory: memory, LinkBytes: 54e9, SortBytes: 300e9,
		Capacity: func(Chunk) int64 { return memory / int64(size) }}
}

// factsOf returns the facts for sorting a file of u64 records to another file, on a machine with
// two processors.
func factsOf(t *testing.T, records, memory int64) *Facts {
	k := formattest.Keyer(t, format.Spec{Type: "u64"})
	f := &Facts{
		Keyer: k, Records: records, Seekable: records >= 0, Memory: 64 * gib,
		Request: Request{MemoryBytes: memory, Workers: 2, SpillCodec: "none"},
		Output:  Output{File: true, OnDisk: true},
		Spill:   Spill{Dirs: []string{"tmp"}, OnDisk: true, Free: -1},
		Devices: []Device{hostDevice(8)},
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 10 {
		f.Sample.Prefixes = append(f.Sample.Prefixes, r.Uint64())
	}
	f.Sample.Ascents, f.Sample.Descents, f.Sample.Enough = 1<<9, 1<<9, true
	return f
}

// chooserOf returns the chooser that weighs strategies for some facts.
func chooserOf(f *Facts) *chooser { return newDecision(f, DefaultProfile()).chooser(reserved{}) }

func choose(t *testing.T, f *Facts) *Plan {
	t.Helper()
	p, err := Choose(f, DefaultProfile())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChooseIsPure checks that the same facts give the same plan, and that Choose does not change
// them.
func TestChooseIsPure(t *testing.T) {
	for name, f := range map[string]*Facts{
		"in core":             factsOf(t, 1000, gib),
		"many runs":           factsOf(t, gib, 16*mib),
		"some memory unused":  factsOf(t, 128*mib, 4*gib),
		"a stream":            factsOf(t, -1, 64*mib),
		"a requested merge":   changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.Strategy = Merge }),
		"a large index":       changed(factsOf(t, gib, 64*mib), func(f *Facts) { f.Request.Strategy = Partition }),
		"few of many":         changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.Limit = 10 }),
		"few different":       changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.Limit, f.Request.Unique = 10, true }),
		"compressed runs":     changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.SpillCodec, f.Memory = "auto", gib }),
		"an input in order":   changed(factsOf(t, gib, gib), func(f *Facts) { f.Sample.Descents = 0 }),
		"two GPUs":            changed(factsOf(t, gib, gib), func(f *Facts) { f.Devices = twoGPUs }),
		"direct I/O":          changed(factsOf(t, gib, 512*mib), func(f *Facts) { f.Memory, f.ReadRate = gib, 1e9 }),
		"a begun checkpoint":  changed(factsOf(t, gib, gib), func(f *Facts) { f.Checkpoint = &Checkpoint{Runs: 3} }),
		"too little memory":   factsOf(t, gib, 13*mib),
		"a disk that is full": changed(factsOf(t, -1, gib), func(f *Facts) { f.Spill.Free = 0 }),
		"passes":              changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.Strategy = Reread }),
		"a requested sift":    changed(factsOf(t, gib, gib), func(f *Facts) { f.Request.Strategy = Sift }),
		"shares of two GPUs":  changed(factsOf(t, gib/2, gib), func(f *Facts) { f.Devices = twoGPUs }),
		"less than one GPU":   changed(factsOf(t, gib/8, gib), func(f *Facts) { f.Devices = twoGPUs }),
		"more than two GPUs": changed(factsOf(t, gib, gib), func(f *Facts) {
			f.Devices, f.Request.Strategy = twoGPUs, Spread
		}),
		"a full disk of an output": changed(factsOf(t, gib, gib), func(f *Facts) {
			f.Spill.Free, f.Spill.Output, f.Seekable = 0, 1, false
		}),
		"a full disk of a checkpoint": changed(factsOf(t, gib, gib), func(f *Facts) {
			f.Spill.Free, f.Checkpoint, f.Seekable = 0, &Checkpoint{}, false
		}),
		"one measured disk": changed(factsOf(t, gib, gib), func(f *Facts) {
			disk := Disk{ID: "1", Fetch: 1e9, Write: 5e8, Mixed: 2e8}
			f.Memory, f.ReadRate, f.Disk, f.Spill.Disk, f.Output.Disk = 4*gib, 1e8, disk, disk, disk
		}),
	} {
		t.Run(name, func(t *testing.T) {
			profile := DefaultProfile()
			profile.Touch = 5e-9 // so that some of the memory stays unused
			profileBefore := *profile
			before := fmt.Sprintf("%+v", *f)
			first, err := Choose(f, profile)
			second, errAgain := Choose(f, profile)
			if !reflect.DeepEqual(first, second) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
				t.Errorf("the first plan is\n%+v, %v; the second\n%+v, %v", first, err, second, errAgain)
			}
			if after := fmt.Sprintf("%+v", *f); after != before {
				t.Errorf("the facts were\n%s\nand are\n%s", before, after)
			}
			if *profile != profileBefore {
				t.Errorf("the profile was changed: %+v", profile)
			}
		})
	}
}

// changed returns facts after a change.
func changed(f *Facts, change func(*Facts)) *Facts {
	change(f)
	return f
}

var twoGPUs = []Device{gpuDevice(8, 3*gib), gpuDevice(8, 3*gib)}

// TestPlanHasTheAlgorithm checks that a plan has the algorithm and the digits of the request.
func TestPlanHasTheAlgorithm(t *testing.T) {
	f := factsOf(t, 1000, gib)
	f.Request.Algorithm, f.Request.DigitBits = "split", 3
	if p := choose(t, f); p.Algorithm != "split" || p.DigitBits != 3 {
		t.Errorf("algorithm %q with digits of %d bits", p.Algorithm, p.DigitBits)
	}
}

// TestPriceOfDirectWrites checks that writes with direct I/O have the price of a copy.
func TestPriceOfDirectWrites(t *testing.T) {
	f := factsOf(t, gib, 512*mib)
	f.Memory, f.ReadRate = gib, 1e9
	c := chooserOf(f)
	before := c.prices[writes]
	c.weigh()
	want := c.profile.copies(f, c.sizes.Workers)
	if !c.sizes.Queue.Output || want == before || c.prices[writes] != want {
		t.Errorf("a write costs %g, and %g before; want %g; %+v", c.prices[writes], before, want, c.sizes.Queue)
	}
}

// TestSampleCountsSteps counts ascents and descents; equal neighbors are neither.
func TestSampleCountsSteps(t *testing.T) {
	for _, c := range []struct {
		keys              []uint64
		ascents, descents int
	}{
		{nil, 0, 0},
		{[]uint64{5, 6, 7, 8}, 3, 0},
		{[]uint64{5, 6, 7, 8, 1, 2, 2, 3}, 5, 1},
	} {
		s := NewSample(c.keys)
		if s.Ascents != c.ascents || s.Descents != c.descents || !slices.Equal(s.Prefixes, c.keys) {
			t.Errorf("%v: keys %v, %d ascents, %d descents", c.keys, s.Prefixes, s.Ascents, s.Descents)
		}
	}
}

// TestReservedBytes checks that the space reserved for an output is that of the records to write,
// as far as their number is known.
func TestReservedBytes(t *testing.T) {
	const records = 1000
	for _, c := range []struct {
		name   string
		change func(f *Facts)
		want   int64
	}{
		{"all", func(*Facts) {}, 8 * records},
		{"few", func(f *Facts) { f.Request.Limit = 10 }, 8 * 10},
		{"more than there are", func(f *Facts) { f.Request.Limit = 2 * records }, 8 * records},
		{"none", func(f *Facts) { f.Request.Limit = -1 }, 0},
		{"with counts", func(f *Facts) { f.Request.ExtraBytes = 4 }, 12 * records},
		{"unique", func(f *Facts) { f.Request.Unique = true }, 0},
		{"in memory", func(f *Facts) { f.Output.OnDisk = false }, 0},
		{"compressed", func(f *Facts) { f.Output.Codec = format.Gzip }, 0},
		{"a stream", func(f *Facts) { f.Records = -1 }, 0},
	} {
		f := changed(factsOf(t, records, gib), c.change)
		if got := f.ReservedBytes(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
}

// TestCheckpointDecides checks that only runs of a checkpoint decide that a merge continues with
// them. An empty checkpoint only rules out strategies whose work it can't keep.
func TestCheckpointDecides(t *testing.T) {
	const continues = "continues with the runs of the checkpoint"
	for _, runs := range []int{0, 3} {
		f := factsOf(t, gib, gib)
		f.Checkpoint = &Checkpoint{Runs: runs}
		for _, c := range choose(t, f).Considered {
			isMerge := c.Strategy == Merge
			if (c.Why == continues) != (isMerge && runs > 0) {
				t.Errorf("%d runs, %s: %s", runs, c.Strategy, c.Why)
			}
			if c.Possible && !isMerge && runs > 0 {
				t.Errorf("%d runs, %s is possible: %s", runs, c.Strategy, c.Why)
			}
		}
	}
}

// TestTransitionsEnd checks that a Restart transition always leads to a later candidate of the
// plan, so that a run ends.
func TestTransitionsEnd(t *testing.T) {
	for _, records := range []int64{-1, 0, 1000, 1 << 24, 1 << 30} {
		for _, descents := range []int{0, 3, 1 << 9} {
			f := factsOf(t, records, 64*mib)
			f.Sample.Descents = descents
			all := choose(t, f).Considered
			for i, a := range all {
				for _, transition := range a.Transitions {
					then := slices.IndexFunc(all, func(c Candidate) bool { return c.Strategy == transition.Then })
					if !strings.Contains(transition.String(), fmt.Sprint(transition.If)) {
						t.Errorf("%+v is shown as %s", transition, transition)
					}
					if then < 0 || transition.Restart && (transition.Part || then <= i || !all[then].Possible) {
						t.Errorf("%d records, %d descents: candidate %d has %+v", records, descents, i, transition)
					}
				}
			}
		}
	}
}

// TestLargeParts checks how parts that do not fit in a chunk are sorted.
func TestLargeParts(t *testing.T) {
	distinct := make([]uint64, 1000)
	for i := range distinct {
		distinct[i] = uint64(i)
	}
	for _, c := range []struct {
		name          string
		keys          []uint64
		depth, passes int
		parts         int
		planned       bool
	}{
		{"of the input", distinct, 1, 1, 3, false},
		{"of the input, as planned", distinct, 1, 2, 3, true},
		{"of a part", distinct, 2, 2, 3, false},
		{"of a part of a part", distinct, 3, 3, 0, false},
		{"with one key", make([]uint64, 1000), 1, 2, 0, false},
		{"with an unknown key", nil, 1, 1, 0, false},
	} {
		a := Candidate{ChunkRecords: 1000, ScatterPasses: c.passes}
		parts, condition, planned := a.OnLargePart(c.keys, 2000, c.depth)
		if parts != c.parts || planned != c.planned || (condition == similar) != (parts == 0) {
			t.Errorf("%s: %d parts, %q, planned: %t", c.name, parts, condition, planned)
		}
	}
}

// TestPartsOfStream checks that a stream has more parts if the memory limit is small, so that a
// stream of 512 MiB needs one pass, but not so many that their blocks are tiny.
func TestPartsOfStream(t *testing.T) {
	for _, c := range []struct {
		memory      int64
		size        int // of a record, with the memory that sorting it takes
		least, most int
		fits        bool // a stream of 512 MiB
	}{
		{16 * mib, 24, 256, 512, false},
		{16 * mib, 12, 256, 512, true},
		{16 * mib, 8, 129, 256, true},
		{64 * mib, 16, minStreamParts, minStreamParts, true},
		{gib, 16, minStreamParts, minStreamParts, true},
	} {
		f := factsOf(t, -1, c.memory)
		f.Request.Strategy = Partition
		f.Devices = []Device{hostDevice(c.size)}
		p := choose(t, f)
		scatter, fit := FitPartitions(f, &p.Sizes, -1, p.Chunks)
		if p.Chunks < c.least || p.Chunks > c.most {
			t.Errorf("%d MiB: %d parts, want %d to %d", c.memory>>20, p.Chunks, c.least, c.most)
		}
		if fit < p.Chunks || p.Chunks > minStreamParts && scatter.BlockBytes < minStreamBlock {
			t.Errorf("%d MiB: %d of %d parts have blocks of %d bytes", c.memory>>20, fit, p.Chunks, scatter.BlockBytes)
		}
		inChunks := int64(maxPartFill * float64(p.Chunks) * float64(p.ChunkRecords))
		if fits := 8*inChunks >= likelyStreamBytes; fits != c.fits {
			t.Errorf("%d MiB: %d parts of %d records fit a stream of 512 MiB: %t, want %t",
				c.memory>>20, p.Chunks, p.ChunkRecords, fits, c.fits)
		}
	}
}

// TestCapacityOfDevices checks that chunks in flight share the memory of their device. On a device that
// uses the memory of the host, a chunk respects the limits of both.
func TestCapacityOfDevices(t *testing.T) {
	c := chooserOf(factsOf(t, gib, gib))
	device := gpuDevice(8, 3*gib)
	device.Capacity = func(c Chunk) int64 { return c.MemoryBytes / 8 }
	slots := int64(c.sizes.SlotsOf(&device))
	host := c.sizes.ChunkBytes
	for _, test := range []struct {
		unified      bool
		memory, want int64
	}{
		{false, 3 * gib, host / 8 / slots},
		{true, 1 << 50, host / 8},
		{true, 16 * mib, 16 * mib / slots / 8},
	} {
		device.Unified = test.unified
		device.Memory = test.memory
		if got := c.capacityOf(&device, 0); slots < 2 || got != test.want {
			t.Errorf("%+v: %d records, %d chunks at a time", test, got, slots)
		}
	}
}

// TestPartFill checks that a part has a margin of several standard deviations of its size, and that
// the margin is limited.
func TestPartFill(t *testing.T) {
	for _, parts := range []float64{1, 10, 30, 100, 170} {
		keys := SampleKeys / parts
		largest := keys + partDeviations*math.Sqrt(keys)
		if fill := partFill(parts, SampleKeys); fill*largest/keys > 1 || fill > maxPartFill {
			t.Errorf("%g parts: a part fills %.3f of a chunk on average, and %.3f in the worst case",
				parts, fill, fill*largest/keys)
		}
	}
	if fill := partFill(1e6, SampleKeys); fill != minPartFill {
		t.Errorf("many parts fill %g of a chunk each, want %g", fill, minPartFill)
	}
}

// TestWishes checks that each wish says why it wants memory, that its name is unique, and that it
// gets no more than its share.
func TestWishes(t *testing.T) {
	seen := map[string]bool{}
	for _, table := range [][]wish{processWishes, streamWishes, blockWishes} {
		for _, w := range table {
			if w.name == "" || w.why == "" || seen[w.name] {
				t.Errorf("wish %q: %q, seen: %t", w.name, w.why, seen[w.name])
			}
			seen[w.name] = true
		}
	}
	if len(seen) != 12 {
		t.Errorf("%d wishes", len(seen))
	}

	greedy := func(*division) int64 { return 1000 }
	for _, c := range []struct {
		wish wish
		want int64
	}{
		{wish{name: "all", bytes: greedy}, 1000},
		{wish{name: "a share", bytes: greedy, share: 4}, 500},
	} {
		d := &division{left: 2000}
		granted := int64(-1)
		c.wish.grant = func(_ *Sizes, bytes int64) { granted = bytes }
		d.fulfill([]wish{c.wish})
		if granted != c.want || d.left != 2000-c.want || len(d.lines) != int(min(c.want, 1)) {
			t.Errorf("%s: %d bytes, want %d; %d are left, lines %v", c.wish.name, granted, c.want, d.left, d.lines)
		}
	}
}

// TestBudgetAddsUp checks with random facts that the lines of the budget add up to the limit, and
// that none is negative.
func TestBudgetAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	codecs := []format.Compression{format.None, format.Gzip, format.Zstd, format.S2}
	decoders := []int64{0, 128 << 10, 24 << 20, 10 << 20}
	for range 3000 {
		layout := format.Layout{RecordSize: 1 + r.IntN(1<<r.IntN(17))}
		layout.Key = []format.Field{{Type: format.Type{Kind: format.Bytes, Size: 1 + r.IntN(min(layout.RecordSize, 64))}}}
		k := formattest.KeyerOf(t, layout)
		f := &Facts{Keyer: k, Records: r.Int64N(1<<r.IntN(45)+1) - 1, ConcurrentInputs: r.IntN(2) == 0}
		f.Decoders = decoders[:r.IntN(4)]
		f.Request = Request{Unique: r.IntN(2) == 0, Limit: r.Int64N(1 << r.IntN(30)), Workers: 1 + r.IntN(256),
			MemoryBytes: 16*mib + r.Int64N(1<<(24+r.IntN(17))), SpillCodec: []string{"auto", "none", "zstd"}[r.IntN(3)]}
		f.Output = Output{Codec: codecs[r.IntN(4)]}
		s := Divide(f)
		sum := int64(0)
		for _, line := range s.Budget.Lines {
			sum += line.Bytes
		}
		if sum != f.Request.MemoryBytes {
			t.Fatalf("%+v: the lines %v add up to %d", f.Request, s.Budget.Lines, sum)
		}
		for _, line := range s.Budget.Lines {
			if line.Bytes < 0 {
				t.Fatalf("%+v: %v", f.Request, s.Budget.Lines)
			}
		}
		if s.Workers < 1 || s.Workers > f.Request.Workers || s.BlockBytes%layout.RecordSize != 0 || s.FanIn < 2 {
			t.Fatalf("%+v: %+v", f.Request, s)
		}
	}
}

// TestMemoryForFew checks that a sort for the first few records takes little memory, if not all
// records may fit in the memory limit.
func TestMemoryForFew(t *testing.T) {
	const allowed = gib
	whole := int64(allowed - runtimeBytes - allowed/runtimePart)
	for _, c := range []struct {
		name    string
		asked   Request
		records int64
		want    int64 // most bytes of memory; the least is half of it
	}{
		{"few of a stream", Request{Limit: 1}, -1, limitedBytes},
		{"more of a stream", Request{Limit: 2_000_000}, -1, 2_000_000 * 8 * chunkOfLimit},
		{"most of what may fit", Request{Limit: 1 << 62}, -1, whole},
		{"few of different keys", Request{Limit: 1, Unique: true}, -1, whole},
		{"all of a stream", Request{}, -1, whole},
		{"few of a file that fits", Request{Limit: 1}, 100, whole},
	} {
		f := factsOf(t, c.records, allowed)
		f.Request.Limit, f.Request.Unique = c.asked.Limit, c.asked.Unique
		s := Divide(f)
		if got := s.Budget.Chunks(); got > c.want || got < c.want/2 {
			t.Errorf("%s: memory of %d bytes, want up to %d", c.name, got, c.want)
		}
	}
}

// TestUnusedMemoryNeedsNoError checks that a plan with too little memory fails without an
// explanation, and that Choose explains it. Choose tries plans with less memory for every sort, and
// the explanation takes longer than the plan of a small input.
func TestUnusedMemoryNeedsNoError(t *testing.T) {
	f := factsOf(t, 100, gib)
	if _, err := newDecision(f, DefaultProfile()).plan(gib - mib); err != errTooLittle {
		t.Errorf("a plan with 1 MiB: %v, want %v", err, errTooLittle)
	}

	f.Request.MemoryBytes = mib
	_, err := Choose(f, DefaultProfile())
	if _, ok := errors.AsType[*MemoryError](err); !ok {
		t.Errorf("Choose with 1 MiB: %v, want a MemoryError", err)
	}
}

// TestLeastMemory checks that the least memory that an error names is enough, and that one MiB less
// is not.
func TestLeastMemory(t *testing.T) {
	for _, size := range []int{512 << 10, mib} {
		key := []format.Field{{Type: format.Type{Kind: format.Bytes, Size: 8}}}
		k := formattest.KeyerOf(t, format.Layout{RecordSize: size, Key: key})
		f := factsOf(t, 1000, 13*mib)
		f.Keyer, f.Devices = k, []Device{hostDevice(size)}
		if _, err := Choose(f, DefaultProfile()); err == nil {
			t.Fatalf("%d bytes: 13 MiB are enough", size)
		}
		for less, want := range map[int64]bool{0: true, mib: false} {
			f.Request.MemoryBytes = leastMemory(f) - less
			if s := Divide(f); s.Merges(f) != want {
				t.Errorf("%d bytes, %d bytes less than the least memory: enough is %t", size, less, s.Merges(f))
			}
			f.Request.MemoryBytes = 13 * mib
		}
	}
}

// TestCuts cuts random numbers of records into chunks. The chunks must contain all records and
// respect the maximum size, and there must be as many as planned. The last one stays in memory
// unless there are very many.
func TestCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	capacity := chooserOf(factsOf(t, 1, 40*mib)).capacity
	for range 2000 {
		n := capacity + 1 + r.Int64N(capacity<<r.IntN(6))
		f := factsOf(t, n, 40*mib)
		f.Request.Strategy = Merge
		a := choose(t, f).Considered[0]
		if a.KeptRecords > a.ChunkRecords || a.KeptRecords == 0 && a.Chunks < 10 {
			t.Fatalf("%d records in chunks of %d at most are cut as %+v", n, a.ChunkRecords, a)
		}
		sizes := cutAll(t, &a, n)
		last := sizes[len(sizes)-1]
		if len(sizes) != a.Chunks || a.KeptRecords > 0 && (last != a.KeptRecords || slices.Max(sizes) > a.KeptRecords) {
			t.Fatalf("%d records, %+v: chunks of %v", n, a, sizes)
		}
	}
}

func cutAll(t *testing.T, a *Candidate, records int64) (sizes []int64) {
	t.Helper()
	for records > 0 {
		n := min(a.NextChunk(records), records, a.ChunkRecords)
		records -= n
		if sizes = append(sizes, n); len(sizes) > 1000 {
			t.Fatalf("no end of chunks: %d", sizes[:10])
		}
	}
	return sizes
}

// TestWanted checks the estimate of how many records have a given number of distinct keys.
func TestWanted(t *testing.T) {
	distinct, half := make([]uint64, 1000), make([]uint64, 1000)
	for i := range distinct {
		distinct[i], half[i] = uint64(i), uint64(max(i-500, 0))
	}
	for _, c := range []struct {
		name   string
		keys   int64
		sample []uint64
		want   int64
	}{
		{"the first", 1, distinct, 1},
		{"a tenth", 100_000, distinct, 99_000},
		{"all", 1_000_000, distinct, 999_000},
		{"more than there are", 1_000_001, distinct, -1},
		{"behind a frequent key", 2, half, 501_000},
		{"only the frequent key", 1, half, 1},
		{"one key", 2, make([]uint64, 1000), -1},
		{"nothing is known", 1, nil, -1},
	} {
		f := &Facts{Records: 1_000_000, Request: Request{Limit: c.keys, Unique: true}, Sample: Sample{Prefixes: c.sample}}
		if got := f.wanted(f.Sample.Sorted); got < c.want-1000 || got > c.want+1000 || (got < 0) != (c.want < 0) {
			t.Errorf("%s: %d records, want %d", c.name, got, c.want)
		}
	}
}

// TestKindsOfWork checks that the model has at most ten kinds of work, and that each of them changes
// a prediction. The choices that follow from them are in testdata/plans.txt.
func TestKindsOfWork(t *testing.T) {
	if kindsOfWork > 10 {
		t.Errorf("%d kinds of work, the most is 10: count a new one in units of another", kindsOfWork)
	}
	f := factsOf(t, gib/8, 64*mib)
	seconds := func(free int) (all []float64) {
		c := chooserOf(f)
		if free >= 0 {
			c.prices[free] = 0
		}
		for _, row := range Strategies {
			all = append(all, row.weigh(c).Seconds)
		}
		return all
	}
	for kind := range kindsOfWork {
		if slices.Equal(seconds(-1), seconds(kind)) {
			t.Errorf("kind %d changes no prediction", kind)
		}
	}
}

// TestGPUPays predicts whether a GPU pays, for machines where the answer is known.
func TestGPUPays(t *testing.T) {
	measured := gpuDevice(8, 140*gib)
	unknown := Device{GPU: true, Memory: 140 * gib}
	for _, c := range []struct {
		name    string
		gpu     Device
		bytes   int64
		memory  int64
		workers int
		pays    bool
	}{
		{"8 GiB on two cores", unknown, 8 * gib, 16 * gib, 2, true},
		{"8 GiB on 16 cores that must spill", unknown, 8 * gib, 512 * mib, 16, true},
		{"8 GiB on 16 cores, GPU measured", measured, 8 * gib, 16 * gib, 16, true},
		{"128 MiB on 16 cores", unknown, 128 * mib, 16 * gib, 16, false},
		{"slow link", Device{GPU: true, Memory: 8 * gib, LinkBytes: 1e9}, 2 * gib, 16 * gib, 8, false},
		{"a pipe", FastestGPU, -8, 16 * gib, 2, false},
		{"1 MiB on one core", FastestGPU, mib, 16 * gib, 1, false},
		{"512 MiB on 16 cores that must spill", FastestGPU, 512 * mib, 256 * mib, 16, false},
		{"2 GiB on 16 cores", FastestGPU, 2 * gib, 16 * gib, 16, false},
		{"2 GiB on 16 cores that must spill", FastestGPU, 2 * gib, 512 * mib, 16, true},
		{"2 GiB on two cores", FastestGPU, 2 * gib, 16 * gib, 2, true},
		{"32 GiB on 16 cores", FastestGPU, 32 * gib, 64 * gib, 16, true},
	} {
		f := factsOf(t, c.bytes/8, c.memory)
		f.Request.Workers = c.workers
		if got := GPUPays(f, DefaultProfile(), c.gpu); got != c.pays {
			t.Errorf("%s: %t, by %.2f s", c.name, got, gpuGain(f, DefaultProfile(), c.gpu))
		}
		f.Sample.Descents = 0
		if GPUPays(f, DefaultProfile(), c.gpu) {
			t.Errorf("%s: pays for what is in order", c.name)
		}
	}
}

// TestShares checks that records are divided in proportion to the capacity of each device, and that
// no device gets more than its capacity.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		n    int64
		hold []int64
		want []int64 // nil: together they do not hold all records
	}{
		{100, []int64{100, 100}, []int64{51, 49}},
		{100, []int64{300, 100}, []int64{76, 24}},
		{100, []int64{60, 100}, []int64{38, 62}},
		{100, []int64{10, 90, 10}, []int64{10, 82, 8}},
		{100, []int64{50, 50}, []int64{50, 50}},
		{100, []int64{50, 49}, nil},
		{1, []int64{5, 5}, []int64{1}},
		{0, []int64{5, 5}, nil},
		{5, []int64{0, 5}, []int64{5}},
		{1 << 52, []int64{1 << 50, 1 << 51, math.MaxInt64}, []int64{0, 0, 0}},
	} {
		f := factsOf(t, c.n, gib)
		f.Devices = nil
		for _, hold := range c.hold {
			f.Devices = append(f.Devices, gpuDevice(1, hold))
		}
		shares, fit := chooserOf(f).shares()
		var got []int64
		sum := int64(0)
		for _, s := range shares {
			got, sum = append(got, s.Records), sum+s.Records
			if s.Records < 1 || s.Records > c.hold[s.Device] {
				t.Errorf("%+v: %v", c, got)
			}
		}
		if fit != (c.want != nil || c.n == 0) || fit && sum != c.n || fit && c.n < 1<<50 && !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, all fit: %t", c, got, fit)
		}
	}
}

// TestRewritten checks how often a record is merged into another run, on average.
func TestRewritten(t *testing.T) {
	for _, c := range []struct {
		runs, fanIn int
		want        float64
	}{
		{1, 2, 0}, {2, 2, 0}, {3, 2, 2.0 / 3}, {4, 2, 1}, {8, 2, 2},
		{12, 12, 0}, {13, 12, 2.0 / 13}, {144, 12, 1}, {145, 12, 147.0 / 145},
	} {
		if got := rewritten(c.runs, c.fanIn); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d runs, %d at once: %f, want %f", c.runs, c.fanIn, got, c.want)
		}
	}
	for runs := 1; runs < 500; runs++ {
		for fanIn := 2; fanIn < 20; fanIn++ {
			if got, most := rewritten(runs, fanIn), float64(max(Levels(runs, fanIn)-1, 0)); got > most {
				t.Errorf("%d runs, %d at once: %f, more than the %f of full levels", runs, fanIn, got, most)
			}
		}
	}
}

// TestForcedStrategiesArePossible checks that a requested strategy without a canForce function runs
// only if it is possible.
func TestForcedStrategiesArePossible(t *testing.T) {
	c := chooserOf(factsOf(t, 1<<30, gib))
	for _, possible := range []bool{false, true} {
		if c.canForce(&Candidate{Strategy: "another", Possible: possible}) != possible {
			t.Errorf("possible: %t, taken: %t", possible, !possible)
		}
	}
}

// TestIndexOfSpill checks the memory for the index. If a chunk has many times more records than the
// limit, the index covers the records within the limit. Otherwise it covers everything.
func TestIndexOfSpill(t *testing.T) {
	all := indexBytes(factsOf(t, 1<<37, 64*gib), Divide(factsOf(t, 1<<37, 64*gib)).BlockBytes, 60*gib)
	for _, c := range []struct {
		name     string
		change   func(f *Facts)
		at, most int64 // bounds: at least at*all, at most all/most
	}{
		{"no limit", func(*Facts) {}, 1, 1},
		{"few", func(f *Facts) { f.Request.Limit = 1000 }, 0, 1000},
		{"as many as a chunk", func(f *Facts) { f.Request.Limit = 8 << 30 }, 1, 1},
		{"few of a partition", func(f *Facts) { f.Request.Limit, f.Request.Strategy = 1000, Partition }, 1, 1},
		{"few of a merge of files", func(f *Facts) { f.Request.Limit, f.ConcurrentInputs = 1000, true }, 1, 1},
		{"counted", func(f *Facts) { f.Devices[0].Histogram = true }, 0, 1000},
		{"counted, but partitioned", func(f *Facts) { f.Devices[0].Histogram, f.Request.Strategy = true, Partition }, 1, 1},
	} {
		f := factsOf(t, 1<<37, 64*gib)
		c.change(f)
		got := indexBytes(f, Divide(factsOf(t, 1<<37, 64*gib)).BlockBytes, 60*gib)
		if got < all*c.at*9/10 || got > all/c.most+all/10 {
			t.Errorf("%s: %d bytes, %d for everything", c.name, got, all)
		}
	}
}

// TestIndexOfPartition checks that the budget has memory for every block that a partition appends,
// including the short blocks at the end of each worker's parts. Then the index is not in a file. An
// index that needs too much of the memory is in a file.
func TestIndexOfPartition(t *testing.T) {
	for _, c := range []struct {
		name            string
		records, memory int64
		workers         int
		size            int // of a record, with the memory that sorting it takes
		fits            bool
	}{
		{"1 GiB in 64 MiB by 16 workers", 1 << 27, 64 * mib, 16, 16, true},
		{"512 MiB in 32 MiB by 2 workers", 1 << 26, 32 * mib, 2, 12, true},
		{"512 MiB in 32 MiB by 16 workers", 1 << 26, 32 * mib, 16, 24, false},
	} {
		f := factsOf(t, c.records, c.memory)
		f.Spill.OnDisk, f.Output.OnDisk = false, false
		f.Request.Workers, f.Request.Strategy = c.workers, Partition
		f.Devices = []Device{hostDevice(c.size)}
		p := choose(t, f)
		s := &p.Sizes
		scatter, fit := FitPartitions(f, s, c.records, p.Chunks)
		blocks := 8*c.records/int64(scatter.BlockBytes) + int64(fit*c.workers)
		need := blocks * IndexEntryBytes(8)
		if scatter.Workers != c.workers || fit != p.Chunks {
			t.Errorf("%s: %d workers send records to %d parts of %d", c.name, scatter.Workers, fit, p.Chunks)
		}
		if fits := need <= s.IndexBytes; fits != c.fits {
			t.Errorf("%s: the index of %d blocks takes %d bytes of %d", c.name, blocks, need, s.IndexBytes)
		}
		line := slices.IndexFunc(p.Budget.Lines, func(l line) bool { return l.For == "index of temporary files" })
		if line < 0 || p.Budget.Lines[line].Bytes != s.IndexBytes {
			t.Errorf("%s: the budget %v has no line of %d bytes", c.name, p.Budget.Lines, s.IndexBytes)
		}
	}
}

// TestDearMemoryIsLeftAlone checks that a sort leaves memory unused if touching it is expensive,
// even though all records would fit. A requested strategy uses all of it. The budget accounts for
// the unused memory.
func TestDearMemoryIsLeftAlone(t *testing.T) {
	planned := func(touch float64, asked Strategy) *Plan {
		t.Helper()
		f, profile := factsOf(t, 128<<20, 4*gib), DefaultProfile()
		f.Request.Strategy, profile.Touch = asked, touch
		p, err := Choose(f, profile)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := planned(0.1e-9, Auto); p.Strategy != InCore || p.UnusedMemory != 0 {
		t.Errorf("%s is planned where memory is cheap, with %d left alone", p.Strategy, p.UnusedMemory)
	}
	p := planned(5e-9, Auto)
	if p.Strategy == InCore || p.UnusedMemory < 3*gib || p.MemoryLimit != 4*gib {
		t.Errorf("%s is planned where it is dear, with %d of %d left alone", p.Strategy, p.UnusedMemory, p.MemoryLimit)
	}
	sum := int64(0)
	for _, line := range p.Budget.Lines {
		sum += line.Bytes
	}
	if most := p.Budget.Chunks(); sum != 4*gib || most > 4*gib-p.UnusedMemory {
		t.Errorf("the budget is of %d, with %d for chunks", sum, most)
	}
	if p := planned(5e-9, Partition); p.UnusedMemory != 0 {
		t.Errorf("%d are left alone by a strategy that was asked for", p.UnusedMemory)
	}
}

// TestQueue checks the direct I/O requests of data that leaves the page cache. The input and the
// output use them if the strategy spills. Then two parts of a partition share the memory of a
// chunk.
func TestQueue(t *testing.T) {
	for _, c := range []struct {
		change        func(f *Facts)
		requests      int
		input, output bool
	}{
		{func(*Facts) {}, mostRequests, true, true},
		{func(f *Facts) { f.Memory = 64 * gib }, 0, false, false},
		{func(f *Facts) { f.Request.MemoryBytes = 32 * mib }, 0, false, false},
		{func(f *Facts) { f.Request.MemoryBytes = 128 * mib }, 25, true, true},
		{func(f *Facts) { f.ReadRate = DefaultProfile().ReadBytes }, mostRequests, false, true},
		{func(f *Facts) { f.ReadRate, f.FromDisk = DefaultProfile().ReadBytes, true }, mostRequests, true, true},
		{func(f *Facts) { f.Remote = true }, mostRequests, false, true},
		{func(f *Facts) { f.Output.Codec = format.Zstd }, mostRequests, true, false},
		{func(f *Facts) { f.Output.Set = true }, mostRequests, true, false},
		{func(f *Facts) { f.Request.Unique = true }, mostRequests, true, false},
		{func(f *Facts) { f.Checkpoint = &Checkpoint{} }, mostRequests, true, false},
		{func(f *Facts) { f.Sample.Descents = 0 }, mostRequests, false, false},
		{func(f *Facts) { f.Devices = []Device{gpuDevice(8, gib)} }, mostRequests, false, false},
	} {
		f := factsOf(t, gib, 512*mib)
		f.Memory, f.ReadRate = gib, 1e9
		c.change(f)
		p, err := Choose(f, DefaultProfile())
		if err != nil {
			t.Fatal(err)
		}
		q := p.Sizes.Queue
		if q.Requests != c.requests || q.Input != c.input || q.Output != c.output {
			t.Errorf("%+v, want %+v", q, c)
		}
		// With many workers, a merge keeps the disk busy and spills less.
		for _, workers := range []int{1, 16} {
			f.Request.Workers, f.Request.SpillCodec = workers, "auto"
			many, err := Choose(f, DefaultProfile())
			if err != nil || c.input && c.output && (many.Strategy == Partition) != (workers == 1) {
				t.Errorf("%+v, %d workers: %s, error %v", q, workers, many.Strategy, err)
			}
		}
		for _, a := range p.Considered {
			if two := a.InFlight == 2; two != (a.Strategy == Partition && p.Sizes.Queue.Output) && c.output {
				t.Errorf("%+v: %d chunks in flight of %s", q, a.InFlight, a.Strategy)
			}
		}
	}
}

// TestDrift checks that two samples of one distribution do not drift, and that samples of different
// distributions do.
func TestDrift(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sample := func(n int, least, values uint64) []uint64 {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = least + r.Uint64N(values)
		}
		slices.Sort(keys)
		return keys
	}
	much := sample(SampleKeys, 0, 1000)
	for name, c := range map[string]struct {
		keys   []uint64
		drifts bool
	}{
		"the same":       {much, false},
		"another":        {sample(SampleKeys, 0, 1000), false},
		"fewer":          {sample(2000, 0, 1000), false},
		"a little later": {sample(SampleKeys, 20, 1000), false},
		"later":          {sample(SampleKeys, 100, 1000), true},
		"nearer":         {sample(SampleKeys, 0, 900), true},
		"wider":          {sample(SampleKeys, 0, 1150), true},
		"much later":     {sample(SampleKeys, 5000, 1), true},
		"one":            {[]uint64{500}, true},
		"none":           {nil, true},
	} {
		if Drift(much, c.keys) != c.drifts || Drift(c.keys, much) != c.drifts {
			t.Errorf("%s: drift %t and %t, not %t", name, Drift(much, c.keys), Drift(c.keys, much), c.drifts)
		}
	}
}

// readsAllFirst lists which strategies may overwrite their input.
var readsAllFirst = map[Strategy]bool{
	Copy:      false,
	Sift:      false,
	InCore:    true,
	Spread:    true,
	Tally:     true,
	Reread:    false,
	Merge:     true,
	Partition: true,
}

// TestStrategiesInPlace checks that each strategy declares whether it may overwrite its input. A
// strategy that may not is never planned for such an output, even if it is requested.
func TestStrategiesInPlace(t *testing.T) {
	all := []Strategy{Auto}
	for _, row := range Strategies {
		all = append(all, row.Name)
		if want, listed := readsAllFirst[row.Name]; !listed || row.ReadsAllFirst != want {
			t.Errorf("strategy %s reads all of its input first: %t; listed: %t", row.Name, row.ReadsAllFirst, listed)
		}
	}
	for _, strategy := range all {
		if strategy == Spread {
			continue // which needs several devices
		}
		for _, descents := range []int{0, 3, 1 << 9} {
			for _, limit := range []int64{0, 10} {
				f := factsOf(t, 1<<28, gib)
				f.InPlace = true
				f.Request.Strategy, f.Request.Limit = strategy, limit
				f.Sample.Descents = descents
				if descents < 1<<9 {
					slices.Sort(f.Sample.Prefixes)
				}
				for _, c := range choose(t, f).Considered {
					if c.Possible && !readsAllFirst[c.Strategy] {
						t.Errorf("asked for %s, %d descents, limit %d: %s is possible: %s", strategy, descents, limit,
							c.Strategy, c.Why)
					}
				}
			}
		}
	}
}

// TestEveryStageHasWords checks that the row of a strategy describes each stage that its candidates
// have, so that no other file needs to know the stages.
func TestEveryStageHasWords(t *testing.T) {
	seen := map[string]bool{}
	note := func(all []stageText) {
		for _, s := range all {
			if s.Name == "" || s.Doing == "" || StageText(s.Name) != s.Doing {
				t.Errorf("stage %q: the row says %q, reports say %q", s.Name, s.Doing, StageText(s.Name))
			}
			seen[s.Name] = true
		}
	}
	note(commonStages)
	for _, row := range Strategies {
		note(row.stages)
	}

	planned := map[string]bool{}
	for _, descents := range []int{0, 3, 1 << 9} {
		for _, records := range []int64{-1, 1000, 1 << 30} {
			f := factsOf(t, records, gib)
			f.Sample.Descents = descents
			for _, c := range choose(t, f).Considered {
				for _, s := range c.Stages {
					planned[s.Name] = true
					has := func(text stageText) bool { return text.Name == s.Name }
					if !slices.ContainsFunc(slices.Concat(commonStages, c.Strategy.Properties().stages), has) {
						t.Errorf("strategy %s has the stage %q, and its row does not describe it", c.Strategy, s.Name)
					}
				}
			}
		}
	}
	if len(planned) < 8 || len(seen) < 14 {
		t.Errorf("%d stages were planned, %d are described", len(planned), len(seen))
	}
	if got := StageText("another"); got != "another" {
		t.Errorf("a stage that no table has: %q", got)
	}
}

// TestRequestsAreOneLine checks that the budget has one line for the memory of all I/O requests.
func TestRequestsAreOneLine(t *testing.T) {
	d := &division{f: &Facts{}, left: 100}
	take := func(d *division) int64 { return 30 }
	d.fulfill([]wish{
		{name: "parts", shared: requestLine, bytes: take},
		{name: "other", bytes: func(*division) int64 { return 7 }},
		{name: "none", shared: requestLine, bytes: func(*division) int64 { return 0 }},
		{name: "reads", shared: requestLine, bytes: take},
	})
	want := []line{{For: requestLine.For, Bytes: 60, Why: requestLine.Why}, {For: "other", Bytes: 7}}
	if !slices.Equal(d.lines, want) || d.left != 33 {
		t.Errorf("the lines are %+v, and %d bytes are left", d.lines, d.left)
	}
}
