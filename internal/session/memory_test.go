package session

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/lookup"
	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/merge/sets"
)

// memoryChild names a variable that is set in the process that sorts. Only in a separate process is
// the peak memory due to the sort alone.
const memoryChild = "EXTSORT_TEST_MEMORY"

// longData names the variable with the size in MiB of the endless cases of memoryCases. They run
// only if it is set.
const longData = "EXTSORT_TEST_LONG_MIB"

// longMiB returns the value of that variable; 0: it is not set.
func longMiB() (mib int64) {
	_, _ = fmt.Sscan(os.Getenv(longData), &mib)
	return mib
}

// A memoryCase is a sort that exceeds its memory limit if the division of the memory misses any use of
// it.
type memoryCase struct {
	name     string
	repeats  bool // other cases have each of its values: not in short tests
	spec     format.Spec
	strategy Strategy
	piped    bool
	mib      int64 // of data
	limit    int64 // MiB
	spill    int64 // MiB at most
	codec    string
	workers  int    // 0: 2
	output   string // its compression; "": none
	machine  int64  // simulated memory of the machine in MiB; 0: its real memory
	endless  bool   // longMiB of data, in .ci/long only
	with     func(t *testing.T, o *Options)
	dist     string // of the keys; "": uniform

	combine func(dir string) SetOptions // instead of a sort
	copies  int                         // of the input, for combine; 0: 2

	blockBytes int // size of the blocks of temporary data; 0: as planned

	// The input is cut into these compressed files; nil: one uncompressed file.
	packed  []packedFiles
	merge   bool  // sort each of these files, and merge them
	find    bool  // sort keys, and look up all of them
	part    Part  // part of the merge, like in a task of dist; zero: all
	garbage int64 // maximum total allocations on Go's heap in MiB; 0: the usual limit
}

// values returns what distinguishes the case from others. Short tests include each value.
func (c *memoryCase) values() []string {
	all := []string{
		fmt.Sprintf("codec=%s", c.codec),
		fmt.Sprintf("strategy=%s piped=%t", c.strategy, c.piped),
		fmt.Sprintf("record=%d%s%s", c.spec.RecordSize, c.spec.Type, c.spec.Format),
		fmt.Sprintf("output=%s", c.output),
		fmt.Sprintf("many workers=%t small limit=%t", c.workers > 2, c.limit == 16),
		fmt.Sprintf("past the page cache=%t", c.machine > 0),
		fmt.Sprintf("look-ups=%t", c.find),
		fmt.Sprintf("long index=%t merge=%t", c.blockBytes > 0, c.merge),
	}
	for _, p := range c.packed {
		all = append(all, fmt.Sprintf("merge=%t input=%s many=%t", c.merge, p.codec, p.files > 1))
	}
	return all
}

// memoryCases lists the sorts of TestMemoryLimit.
var memoryCases = []memoryCase{
	{name: "merge", repeats: true, spec: gensortSpec, strategy: MergeRuns, mib: 300, limit: 64, spill: 310},
	{name: "partition", repeats: true, spec: gensortSpec, strategy: Partition, mib: 300, limit: 64, spill: 310},
	{name: "pipe", repeats: true, spec: gensortSpec, piped: true, mib: 300, limit: 64, spill: 310},
	{name: "least memory, pipe", repeats: true,
		spec: format.Spec{Type: "u64"}, piped: true, mib: 160, limit: 16, spill: 185},
	{name: "least memory, pipe, partition", spec: format.Spec{Type: "u64"}, strategy: Partition, piped: true, mib: 160,
		limit: 16, spill: 175},
	{name: "keep", spec: gensortSpec, strategy: MergeRuns, mib: 300, limit: 240, spill: 150},
	{name: "in core", spec: format.Spec{Type: "u64"}, mib: 300, limit: 400},
	{name: "counted", spec: format.Spec{Type: "u16"}, piped: true, mib: 160, limit: 16, workers: 40},
	{name: "least memory, merge", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: MergeRuns, mib: 160, limit: 16, spill: 330},
	{name: "least memory, partition", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: Partition, mib: 160, limit: 16,
		spill: 330},
	{name: "least memory, wide, merge", spec: wideSpec, strategy: MergeRuns, mib: 160, limit: 16, spill: 500},
	{name: "least memory, wide, partition", repeats: true,
		spec: wideSpec, strategy: Partition, mib: 160, limit: 16, spill: 500},
	{name: "least memory, zstd", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: MergeRuns, mib: 160, limit: 16, spill: 500,
		codec: "zstd", workers: 40},
	{name: "least memory, zstd, partition", spec: format.Spec{Type: "u64"}, strategy: Partition, mib: 160, limit: 16,
		spill: 500, codec: "zstd", workers: 40},
	{name: "many workers, short records", spec: format.Spec{Type: "bytes3"}, strategy: Partition, mib: 160, limit: 128,
		spill: 161, codec: "none", workers: 40},
	{name: "zstd", repeats: true,
		spec: gensortSpec, piped: true, mib: 300, limit: 64, spill: 310, codec: "zstd", workers: 40},
	{name: "s2", spec: gensortSpec, piped: true, mib: 160, limit: 64, spill: 310, codec: "s2", workers: 40},
	{name: "delta", spec: format.Spec{Type: "u64"}, strategy: MergeRuns, piped: true, mib: 160, limit: 64, spill: 220,
		codec: "delta"},
	{name: "delta, many workers", spec: format.Spec{Type: "u32"}, strategy: MergeRuns, mib: 160, limit: 48, spill: 90,
		codec: "delta", workers: 40},
	{name: "least memory, delta", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: MergeRuns, mib: 160, limit: 16, spill: 260,
		codec: "delta", workers: 40},
	{name: "output by zstd", spec: format.Spec{Type: "bytes20"}, mib: 200, limit: 128, spill: 210, codec: "none",
		output: "zstd", garbage: 400}, // encoders of up to 16 processors
	{name: "least memory, output by s2", spec: gensortSpec, mib: 160, limit: 16, spill: 400, codec: "none", output: "s2"},
	{name: "output by brotli", spec: gensortSpec, mib: 100, limit: 64, spill: 200, codec: "none", output: "brotli"},
	{name: "long pipe", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: MergeRuns, piped: true, mib: 640, limit: 16,
		spill: 1300},
	{name: "endless pipe, merge", spec: format.Spec{Type: "u64"}, strategy: MergeRuns, piped: true, mib: 640, limit: 16,
		endless: true},
	{name: "endless pipe, partition", spec: format.Spec{Type: "u64"}, strategy: Partition, piped: true, mib: 640,
		limit: 16, endless: true},
	{name: "endless pipe to several files", spec: format.Spec{Type: "u64"}, piped: true, mib: 640, limit: 16, spill: 2600,
		endless: true, with: func(_ *testing.T, o *Options) { o.SplitFiles = 3 }},
	{name: "endless file, checkpoint", spec: format.Spec{Type: "u64"}, mib: 640, limit: 16, endless: true,
		with: func(t *testing.T, o *Options) { o.Checkpoint, o.TempDirs = filepath.Join(t.TempDir(), "kept"), nil }},
	{name: "least memory, counts in runs", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: MergeRuns, mib: 160, limit: 16,
		spill: 400, with: func(_ *testing.T, o *Options) { o.Unique, o.Count = true, true }},
	{name: "least memory, counts appended as records are read", spec: format.Spec{Type: "u64"}, strategy: MergeRuns,
		mib: 160, limit: 16, spill: 10, with: func(t *testing.T, o *Options) {
			makeFewKeys(t, o, 8, 2_000)
			o.Unique, o.Count = true, true
		}},
	{name: "sums in runs, many workers", spec: format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}, strategy: MergeRuns,
		mib: 160, limit: 48, spill: 420, workers: 40,
		with: func(_ *testing.T, o *Options) { o.Unique, o.Sum = true, []string{"8:u32", "12:u8"} }},
	{name: "least memory, tally", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: Tally, mib: 160, limit: 16, workers: 40,
		with: func(t *testing.T, o *Options) { makeFewKeys(t, o, 8, 2_000) }},
	{name: "least memory, tally of too many keys", repeats: true,
		spec: format.Spec{Type: "u64"}, strategy: Tally, mib: 160, limit: 16,
		spill: 330},
	{name: "tally of sums", spec: format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}, strategy: Tally, mib: 160,
		limit: 64, with: func(t *testing.T, o *Options) {
			makeFewKeys(t, o, 16, 50_000)
			o.Unique, o.Count, o.Sum = true, true, []string{"sum=8:u32:u128"}
		}},
	{name: "least memory, 40 sums", repeats: true,
		spec: format.Spec{Type: "u32"}, strategy: MergeRuns, mib: 8, limit: 16, spill: 30,
		garbage: 20, with: func(_ *testing.T, o *Options) {
			o.Unique = true
			for i := range 40 {
				o.Sum = append(o.Sum, fmt.Sprintf("sum%d=0:u32:u128", i))
			}
		}},
	{name: "past the page cache, merge", repeats: true,
		spec: gensortSpec, strategy: MergeRuns, mib: 300, limit: 96, spill: 310,
		machine: 96},
	{name: "past the page cache, partition", spec: gensortSpec, strategy: Partition, mib: 300, limit: 96, spill: 310,
		machine: 96},

	{name: "least memory, lz4 input", repeats: true, spec: keySpec, mib: 16, limit: 16, spill: 50, garbage: 40,
		packed: []packedFiles{{1, "lz4"}}},
	{name: "least memory, output by gzip", spec: keySpec, mib: 16, limit: 16, spill: 40, output: "gzip", garbage: 40},
	{name: "least memory, four compressions", spec: keySpec, mib: 24, limit: 16, spill: 200, garbage: 120,
		packed: []packedFiles{{1, "lz4"}, {1, "zstd"}, {1, "gzip"}, {1, "s2"}}},
	{name: "least memory, 200 zstd inputs", spec: keySpec, mib: 4, limit: 16, spill: 30, garbage: 3000,
		packed: []packedFiles{{200, "zstd"}}},
	{name: "least memory, merge of 300 zstd inputs", repeats: true,
		spec: keySpec, mib: 4, limit: 16, spill: 10, garbage: 5000,
		packed: []packedFiles{{300, "zstd"}}, merge: true},
	{name: "least memory, merge of 40 of each compression", spec: keySpec, mib: 8, limit: 16, spill: 20, garbage: 3000,
		packed: []packedFiles{{40, "lz4"}, {40, "zstd"}, {40, "gzip"}, {40, "s2"}}, merge: true},
	{name: "merge of 40 zstd inputs, some of which stay compressed", spec: keySpec, mib: 16, limit: 96, spill: 20,
		garbage: 1000, packed: []packedFiles{{40, "zstd"}}, merge: true},

	{name: "least memory, look-ups of any number of keys", spec: format.Spec{Type: "u64"}, mib: 24, limit: 16,
		spill: 60, garbage: 300, find: true},

	{name: "long index, merge", repeats: true,
		spec: keySpec, strategy: MergeRuns, mib: 48, limit: 16, spill: 110, garbage: 120,
		blockBytes: smallBlock},
	{name: "long index, partition", spec: keySpec, strategy: Partition, mib: 48, limit: 16, spill: 110, garbage: 120,
		blockBytes: smallBlock},
	{name: "long index, merge of 40 files", repeats: true,
		spec: keySpec, mib: 48, limit: 16, spill: 110, garbage: 160,
		packed: []packedFiles{{40, plainFile}}, merge: true, blockBytes: smallBlock},
	{name: "long index, part of a merge of 40 files", spec: keySpec, mib: 48, limit: 16, spill: 60, garbage: 160,
		packed: []packedFiles{{40, plainFile}}, merge: true, blockBytes: smallBlock, part: Part{K: 1, N: 2}},

	{name: "union", spec: keySpec, mib: 64, limit: 16, dist: "sorted",
		combine: func(string) SetOptions { return SetOptions{Operation: sets.Union} }},
	{name: "union of 60", spec: keySpec, mib: 2, limit: 16, dist: "sorted", copies: 60, garbage: 40,
		combine: func(string) SetOptions { return SetOptions{Operation: sets.Union} }},
	{name: "intersect all, wide records", spec: wideSpec, mib: 64, limit: 16, dist: "sorted",
		combine: func(string) SetOptions { return SetOptions{Operation: sets.Intersect, All: true} }},
	{name: "subtract from one key", spec: keySpec, mib: 32, limit: 16, dist: "equal",
		combine: func(string) SetOptions { return SetOptions{Operation: sets.Subtract, All: true} }},
	{name: "compare with three outputs", spec: keySpec, mib: 64, limit: 16, dist: "sorted",
		combine: func(dir string) SetOptions {
			return SetOptions{
				Operation: sets.Compare,
				OnlyA:     filepath.Join(dir, "a"),
				OnlyB:     filepath.Join(dir, "b"),
				Both:      filepath.Join(dir, "both"),
			}
		}},
	{name: "join", spec: gensortSpec, mib: 64, limit: 16, dist: "sorted",
		combine: func(string) SetOptions {
			return SetOptions{Operation: sets.Join, JoinType: sets.OuterJoin, Rows: sets.RowOptions{Presence: true}}
		}},
	{name: "join of a large group", spec: wideSpec, mib: 4, limit: 16, dist: "equal", spill: 1000, garbage: 40,
		combine: func(string) SetOptions {
			return SetOptions{Operation: sets.Join, Rows: sets.RowOptions{Columns: []string{"a.0:u64"}}}
		}},
	{name: "sort, then subtract", spec: keySpec, mib: 64, limit: 64, garbage: 80,
		combine: func(string) SetOptions { return SetOptions{Operation: sets.Subtract, Sort: true} }},
}

const (
	// With blocks this small, the index of a few MiB exceeds its share of the memory.
	smallBlock = 2 << 10
	plainFile  = "plain" // the codec of uncompressed files
)

var (
	gensortSpec = format.Spec{Format: "gensort"}
	wideSpec    = format.Spec{RecordSize: 64 << 10, Keys: []string{"0:u64"}}
)

// TestCachedSpill checks how much of the spilled data stays in the page cache: a part of the
// memory, or everything if it is in a file system in memory.
func TestCachedSpill(t *testing.T) {
	cached := func(folders ...string) int64 {
		f := plan.Facts{Memory: systemMemory(), Spill: plan.Spill{OnDisk: slices.ContainsFunc(folders, isOnDisk)}}
		return f.CachedSpill()
	}
	if got := cached("/proc"); got <= 0 || got > systemMemory()/2 {
		t.Errorf("%d bytes that go to a disk stay in memory, which has %d", got, systemMemory())
	}
	if !spill.InMemory("/dev/shm") {
		t.Skip("no /dev/shm")
	}
	if cached("/dev/shm") != math.MaxInt64 {
		t.Error("what goes to /dev/shm does not stay in memory")
	}
	if cached("/dev/shm", "/proc") != cached("/proc") {
		t.Error("what goes to a disk, too, stays in memory")
	}
}

// TestMemoryLimit sorts with little memory, each case in a separate process.
func TestMemoryLimit(t *testing.T) {
	if os.Getenv(memoryChild) != "" {
		t.Skip("this is the process that sorts")
	}
	if testfiles.Race || runtime.GOOS != "linux" {
		t.Skip("not with the race detector, and only where the system tells the memory in use")
	}
	inputs := &generatedInputs{directory: t.TempDir(), byKey: map[string]func() string{}}
	for i, c := range memoryCases { // not in parallel with other tests, whose syncs would wait for these writes
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.repeats && testing.Short() {
				t.Skip("not in short mode")
			}
			in := filepath.Join(t.TempDir(), "in")
			if c.endless {
				if c.mib = longMiB(); c.mib == 0 {
					t.Skip(longData + " is not set")
				}
			}
			shared := inputs.get(t, c.spec, cmp.Or(c.dist, "uniform"), c.mib<<20)
			if err := os.Link(shared, in); err != nil {
				t.Fatal(err)
			}
			packInputs(t, in, c.packed, c.merge)
			run := func() ([]byte, error) {
				child := exec.Command(os.Args[0], "-test.run", "^TestSortInLittleMemory$", "-test.v")
				child.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", memoryChild, i, in))
				return child.CombinedOutput()
			}
			output, err := run()
			if err != nil { // on a busy machine, a peak can be 2 MiB higher, once; a fault stays
				t.Logf("the first of two runs: %s", output)
				output, err = run()
			}
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
			t.Logf("%s", output)
		})
	}
}

// TestMemoryLimitInShort checks that the cases of short tests have each value of all cases.
func TestMemoryLimitInShort(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range memoryCases {
		for _, value := range c.values() {
			tested[value] = tested[value] || !c.repeats && !c.endless
		}
	}
	for value, ok := range tested {
		if !ok {
			t.Errorf("short tests have no case with %s", value)
		}
	}
}

// generatedInputs are files that several cases read. Each is generated once.
type generatedInputs struct {
	directory string

	mu    sync.Mutex
	byKey map[string]func() string
}

// get returns the name of a file with about the given number of bytes.
func (g *generatedInputs) get(t *testing.T, spec format.Spec, dist string, bytes int64) string {
	t.Helper()
	key := fmt.Sprintln(spec, dist, bytes)
	g.mu.Lock()
	generate := g.byKey[key]
	if generate == nil {
		name := filepath.Join(g.directory, fmt.Sprint(len(g.byKey)))
		generate = sync.OnceValue(func() string {
			writeGenerated(t, name, kind{spec: spec}.layout(t), dist, bytes)
			return name
		})
		g.byKey[key] = generate
	}
	g.mu.Unlock()
	return generate()
}

// TestSortInLittleMemory is the sort that TestMemoryLimit starts in a process.
func TestSortInLittleMemory(t *testing.T) {
	var i int
	var in string
	if n, _ := fmt.Sscan(os.Getenv(memoryChild), &i, &in); n != 2 {
		t.Skip("run by TestMemoryLimit")
	}
	debug.SetGCPercent(50) // as the command does
	c := memoryCases[i]
	opt := Options{Record: c.spec, Inputs: []string{in}, MemoryBytes: c.limit << 20, Verify: true, Strategy: c.strategy,
		MeasureMemory: true,
		Workers:       cmp.Or(c.workers, 2),
		SpillCompress: c.codec, Compress: c.output,
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
	opt.faults.blockBytes = c.blockBytes
	if c.with != nil {
		c.with(t, &opt)
	}
	if c.machine > 0 {
		inLittleMemory(t, c.machine<<20)
	}
	if c.piped {
		opt.pipe(t, in)
	}
	sort := func() (*Report, error) { return Sort(t.Context(), opt) }
	if c.packed != nil {
		opt.Inputs = packedInputs(in, c.packed)
	}
	if c.merge {
		sort = func() (*Report, error) {
			m := MergeOptions{Record: opt.Record, Inputs: opt.Inputs, MemoryBytes: opt.MemoryBytes, Part: c.part,
				MeasureMemory: true, Verify: true, Workers: opt.Workers, Output: opt.Output, TempDirs: opt.TempDirs}
			if m.faults = opt.faults; c.blockBytes > 0 {
				m.BatchSize = 8 // some files are merged into runs first
			}
			return Merge(t.Context(), m)
		}
	}
	if c.combine != nil {
		sort = func() (*Report, error) { return combineCopies(t, c.combine(t.TempDir()), opt, c.copies) }
	}
	if c.find {
		sort = func() (*Report, error) { return findAll(t, opt) }
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, err := sort()
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	t.Logf("%s: %d MiB at the peak, %d MiB spilled", c.name, report.Detail.PeakMemory>>20, report.BytesSpilled>>20)
	most := c.mib / 2
	if c.limit >= 64 && c.workers == 0 && c.output == "" {
		most = 20
	}
	if c.mib > 512 { // all data is merged twice, in blocks of 32 KiB
		most = 2 * c.mib
	}
	// A manifest takes some more memory, and the number of spilled bytes depends on the free
	// memory.
	if c.endless {
		c.spill, most = 8*longMiB(), 4*longMiB()
	}
	if c.garbage > 0 {
		most = c.garbage
	}
	if garbage := int64(after.TotalAlloc-before.TotalAlloc) >> 20; garbage > most {
		t.Errorf("%d MiB were allocated in Go's heap, which has to be collected for every MiB", garbage)
	}
	if report.Detail.PeakMemory == 0 || report.Detail.PeakMemory > c.limit<<20 {
		t.Errorf("%d MiB of memory at the peak, the limit is %d MiB", report.Detail.PeakMemory>>20, c.limit)
	}
	if report.BytesSpilled > c.spill<<20 {
		t.Errorf("%d MiB were spilled of %d MiB, %d are due", report.BytesSpilled>>20, c.mib, c.spill)
	}
	if c.blockBytes > 0 && report.BytesSpilled < c.mib<<20/4 {
		t.Errorf("only %d MiB were spilled of %d MiB: their index is not long", report.BytesSpilled>>20, c.mib)
	}
	if c.packed != nil {
		checkSortedKeys(t, opt.Output, in, c.part)
	}
}

// steps is a sorted source of 2^30 numbers, which takes no memory.
type steps struct{}

func (steps) Records() int64 { return 1 << 30 }

func (steps) ReadRecords(p []byte, first int64) error {
	for i := range len(p) / 8 {
		binary.LittleEndian.PutUint64(p[8*i:], uint64(first+int64(i))<<34)
	}
	return nil
}

// findAll sorts keys of 8 bytes, as the command find does, and looks up all of them.
func findAll(t *testing.T, opt Options) (*Report, error) {
	opt.Record = format.Spec{RecordSize: 8, Keys: []string{"0:u64"}}
	keyer := formattest.KeyerOf(t, kind{spec: opt.Record}.layout(t))
	table := lookup.NewTable("steps", steps{}, keyer, nil)
	total := int64(0)
	previous := uint64(0)
	opt.Verify = false
	opt.Unique = true
	const blockBytes = 32 << 10
	report, err := SortBlocks(t.Context(), opt, BlockWork[[]lookup.Range]{
		RecordSize: 8,
		BlockBytes: blockBytes,
		Memory:     16 * blockBytes,
		Work: func(recs []byte) (all []lookup.Range, err error) {
			cursor := table.NewCursor(true)
			all = make([]lookup.Range, 0, len(recs)/8)
			var key []byte
			for rec := range slices.Chunk(recs, 8) {
				key = keyer.Append(key[:0], rec)
				r, err := cursor.Find(key)
				if err != nil {
					return nil, err
				}
				if want := int64(binary.LittleEndian.Uint64(rec) >> 34); r.First != want && r.First != want+1 {
					return nil, fmt.Errorf("key %x is at %d", rec, r.First)
				}
				all = append(all, r)
			}
			return all, nil
		},
		Yield: func(all []lookup.Range) bool {
			total += int64(len(all))
			if first := uint64(all[0].First); first < previous {
				t.Errorf("a key at %d comes after one at %d", first, previous)
			} else {
				previous = first
			}
			return true
		},
	})
	if err == nil && total != report.RecordsOut {
		t.Errorf("%d look-ups of %d keys", total, report.RecordsOut)
	}
	return report, err
}

// makeFewKeys replaces the input by one of the same size with few keys in the first 8 bytes of the
// records. The other bytes are 0.
func makeFewKeys(t *testing.T, o *Options, size int64, keys uint64) {
	t.Helper()
	info, err := os.Stat(o.Inputs[0])
	if err != nil {
		t.Fatal(err)
	}
	o.Inputs = []string{filepath.Join(t.TempDir(), "few")}
	file := testfiles.Create(t, o.Inputs[0])
	block := make([]byte, 64<<10)
	for at := int64(0); at < info.Size(); at += int64(len(block)) {
		block = block[:min(int64(len(block)), info.Size()-at)]
		for i := int64(0); i < int64(len(block)); i += size {
			key := uint64(at+i) * 0x9e3779b97f4a7c15 >> 20 % keys
			binary.LittleEndian.PutUint64(block[i:], key<<32)
		}
		if _, err := file.Write(block); err != nil {
			t.Fatal(err)
		}
	}
}

// packedFiles describes a number of compressed input files.
type packedFiles struct {
	files int
	codec string // lz4, zstd, gzip or s2
}

// packedInputs returns the names of the compressed files into which the file in is cut.
func packedInputs(in string, packed []packedFiles) (names []string) {
	for _, p := range packed {
		for i := range p.files {
			names = append(names, fmt.Sprintf("%s.%d.%s", in, i, p.codec))
		}
	}
	return names
}

// packInputs cuts a file of 8-byte keys into files, and compresses each so that its decompressor
// needs a lot of memory.
func packInputs(t *testing.T, in string, packed []packedFiles, sorted bool) {
	t.Helper()
	names := packedInputs(in, packed)
	if len(names) == 0 {
		return
	}
	data := testfiles.Read(t, in)
	size := len(data) / len(names) / 8 * 8
	for i, name := range names {
		part := data[i*size : (i+1)*size]
		if i == len(names)-1 {
			part = data[i*size:]
		}
		if sorted {
			part = sortedKeys(part)
		}
		testfiles.Write(t, name, packKeys(t, part, strings.TrimPrefix(filepath.Ext(name), ".")))
	}
}

func packKeys(t *testing.T, data []byte, codec string) []byte {
	t.Helper()
	var packed bytes.Buffer
	var w io.WriteCloser
	var err error
	switch codec {
	case plainFile:
		return data
	case "lz4":
		w = lz4.NewWriter(&packed) // blocks of 4 MiB
	case "zstd":
		w, err = zstd.NewWriter(&packed, zstd.WithWindowSize(8<<20), zstd.WithSingleSegment(false),
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	case "gzip":
		w, err = gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	case "s2":
		w = s2.NewWriter(&packed, s2.WriterBlockSize(4<<20), s2.WriterConcurrency(1))
	}
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// sortedKeys sorts little-endian keys of 8 bytes without using any code of extsort.
func sortedKeys(data []byte) []byte {
	keys := make([]uint64, len(data)/8)
	for i := range keys {
		keys[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	slices.Sort(keys)
	sorted := make([]byte, 0, len(data))
	for _, key := range keys {
		sorted = binary.LittleEndian.AppendUint64(sorted, key)
	}
	return sorted
}

// checkSortedKeys checks that a file contains the sorted keys of another file, or one of several
// equal parts of them.
func checkSortedKeys(t *testing.T, output, in string, part Part) {
	t.Helper()
	data := testfiles.Read(t, in)
	want := sortedKeys(data)
	if part.N > 0 {
		size := int64(len(want)) / 8 / part.N * 8
		want = want[part.K*size : (part.K+1)*size]
	}
	got, err := os.ReadFile(output)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the output has %d bytes, %d are due, or is wrong: %v", len(got), len(want), err)
	}
}

// TestTooLittleToMerge checks that a sort that might need a merge with more memory is refused
// before it spills. The error names a sufficient limit: the sort works with it, and fails with 1
// MiB less.
func TestTooLittleToMerge(t *testing.T) {
	t.Parallel()
	spec := format.Spec{RecordSize: 1 << 20, Keys: []string{"0:u64"}}
	in := filepath.Join(t.TempDir(), "in")
	writeGenerated(t, in, kind{spec: spec}.layout(t), "uniform", 24<<20)
	const least = 19 // MiB
	for _, strategy := range anyStrategy {
		for _, piped := range []bool{false, true} {
			for _, limit := range []int64{MinMemory, 17 << 20, (least - 1) << 20, least << 20} {
				store := &faultStore{&injector{failAt: -1}}
				opt := Options{Record: spec, Inputs: []string{in}, MemoryBytes: limit, Strategy: strategy,
					Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
				opt.faults.spillStore = store
				if piped {
					opt.pipe(t, in)
				}
				_, err := Sort(t.Context(), opt)
				refused := err != nil && strings.Contains(err.Error(), "too little to sort records of 1048576 bytes") &&
					strings.Contains(err.Error(), fmt.Sprintf("to at least %d MiB", least))
				switch spilled := store.count.Load() > 0; {
				case limit < least<<20 && (!refused || spilled):
					t.Errorf("%s, piped %t, %d bytes of memory: spilled %t, error %v", strategy, piped, limit, spilled, err)
				case limit == least<<20 && err != nil:
					t.Errorf("%s, piped %t, %d bytes of memory: %v", strategy, piped, limit, err)
				}
			}
		}
	}
}

// pipe makes the sort read a file as if it came from a pipe.
func (o *Options) pipe(t *testing.T, name string) {
	t.Helper()
	file := testfiles.Open(t, name, os.O_RDONLY)
	o.Inputs, o.Stdin = nil, onlyReader{file}
}

// onlyReader hides that a file is one.
type onlyReader struct{ f *os.File }

func (o onlyReader) Read(p []byte) (int, error) { return o.f.Read(p) }

// writeGenerated writes about the given number of bytes of records with a distribution.
func writeGenerated(t testing.TB, name string, l format.Layout, dist string, bytes int64) {
	t.Helper()
	records := bytes / int64(l.RecordSize)
	g := formattest.Generator(t, l, dist, 1, records)
	f := testfiles.Create(t, name)
	batch := max(1, min(10000, (1<<20)/int64(l.RecordSize)))
	buffer := make([]byte, batch*int64(l.RecordSize))
	for first := int64(0); first < records; first += batch {
		recs := buffer[:min(batch, records-first)*int64(l.RecordSize)]
		g.Fill(recs, first)
		if _, err := f.Write(recs); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPeakMemoryOnRequest checks that peak memory is measured only for a call that asks for it.
func TestPeakMemoryOnRequest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	opt := Options{
		Record: format.Spec{Type: "u8"}, Inputs: []string{writeFile(t, []byte("CABACA"))},
		Output: filepath.Join(t.TempDir(), "out"), MemoryBytes: MinMemory,
	}
	for _, measured := range []bool{false, true} {
		opt.MeasureMemory = measured
		report, err := Sort(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		if known := report.Detail.PeakMemory > 0; known != measured {
			t.Errorf("MeasureMemory %v: the peak is %d", measured, report.Detail.PeakMemory)
		}
	}
}
