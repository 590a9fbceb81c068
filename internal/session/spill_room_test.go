package session

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
)

// narrowStore has files on a disk with space for the given number of bytes, counted in pages.
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

func (f narrowFile) Release(offset, bytes int64) {
	f.store.used.Add(-pages(bytes))
	f.File.Release(offset, bytes)
}

// TestSpillFitsTheRoom sorts with less and less space for temporary files. The sort reads the
// input again if possible, or is refused in advance. It never runs out of space.
func TestSpillFitsTheRoom(t *testing.T) {
	if format.NewPacker(format.Bare(format.Type{Kind: format.Unsigned, Size: 8})) == nil {
		t.Skip("nothing is packed on this machine")
	}
	r := rand.New(rand.NewPCG(11, 12))
	for _, spec := range []string{"u64", "u32be"} {
		k := kindNamed(spec)
		data := k.make(t, "uniform", 1<<17, r)
		want := reference(t, k.layout(t), data, Options{})
		var strategies []string
		refused := 0
		for share := 16; share >= 0; share-- {
			for _, piped := range []bool{true, false} { // records written to a pipe cannot be read back
				store := &narrowStore{}
				store.room.Store(int64(len(data)) * int64(share) / 12)
				opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, MemoryBytes: 64 << 20, Workers: 2}
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
					if _, planned := Plan(t.Context(), opt); planned == nil || planned.Error() != err.Error() {
						t.Errorf("%s, room for %d bytes: a plan fails with %v, the sort with %v", spec, store.room.Load(), planned, err)
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
				strategies = append(strategies, string(report.Strategy))
			}
		}
		if !slices.Contains(strategies, string(MergeRuns)) || !slices.Contains(strategies, string(Reread)) || refused == 0 {
			t.Errorf("%s: sorted by %v, %d refused: not all cases are there", spec, strategies, refused)
		}
	}
}

// TestNothingElseIsPossible sorts an input that looks sorted but is not, without space to spill.
// Strategy sift sorts it. If that is impossible too, the sort is refused and keeps the old
// output.
func TestNothingElseIsPossible(t *testing.T) {
	k := kindNamed("gensort")
	size := k.layout(t).RecordSize
	const n = 40_000
	data := k.make(t, "sorted", n, rand.New(rand.NewPCG(13, 14)))
	copy(data[20*size:21*size], data[(n-1)*size:]) // the sample skips this position
	for _, opt := range []Options{{}, {Limit: n - 1}, {Unique: true, Verify: true, Limit: 5}, {Unique: true}} {
		opt.Record, opt.Inputs, opt.Output = k.spec, []string{writeFile(t, data)}, writeFile(t, []byte("old"))
		opt.MemoryBytes, opt.Workers = 64<<20, 2
		opt.faults.chunkRecords, opt.faults.blockBytes, opt.faults.spillStore = 9000, 32<<10, &narrowStore{}
		if report, err := Plan(t.Context(), opt); err != nil || report.Strategy != Copy {
			t.Fatalf("%v is planned, error %v", report, err)
		}
		report, err := Sort(t.Context(), opt)
		if opt.Limit == 0 {
			if err != nil || report.Strategy != Sift || len(report.Detail.Changes) != 1 || report.BytesSpilled > 0 {
				t.Errorf("%s: %v, error %v", describe(opt), report, err)
			}
			continue
		}
		if got, _ := os.ReadFile(opt.Output); err == nil || string(got) != "old" {
			t.Errorf("%s: error %v, %d bytes stand under the name", describe(opt), err, len(got))
		}
		if err != nil && !strings.Contains(err.Error(), "is not in order, and strategy merge needs") {
			t.Errorf("%s: %v", describe(opt), err)
		}
	}
}

// TestOutputTakesRoomOfSpill checks that there is no plan if a file system has space for the
// temporary files or for the output, but not for both.
func TestOutputTakesRoomOfSpill(t *testing.T) {
	ask := isOnDisk
	defer func() { isOnDisk = ask }()
	isOnDisk = func(string) bool { return true }
	k := kindNamed("gensort")
	data := k.make(t, "uniform", 40_000, rand.New(rand.NewPCG(15, 16)))
	store := &narrowStore{}
	store.room.Store(int64(len(data)) * 3 / 2)
	opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, MemoryBytes: 16 << 20, Workers: 2}
	opt.faults.chunkRecords, opt.faults.blockBytes, opt.faults.spillStore = 9000, 32<<10, store
	opt.Strategy, opt.TempDirs = MergeRuns, []string{t.TempDir()}
	if _, diskOf := machineProfile(); diskOf(opt.TempDirs[0]).ID == "" {
		t.Skip("file systems cannot be told apart here")
	}
	for _, c := range []struct {
		output string
		limit  int64
		want   Strategy
	}{
		{"", 0, MergeRuns},
		{filepath.Join(opt.TempDirs[0], "out"), 0, ""},
		{filepath.Join(opt.TempDirs[0], "out"), 10_000, MergeRuns},
		// The size of a compressed output is not known in advance.
		{filepath.Join(opt.TempDirs[0], "out.gz"), 0, MergeRuns},
	} {
		opt.Output, opt.Limit, opt.Stdout = c.output, c.limit, &bytes.Buffer{}
		report, err := Plan(t.Context(), opt)
		if c.want == "" {
			if says := " and 3.8 MiB for the output on the same disk, but only "; err == nil ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("output %q: error %v", c.output, err)
			}
			continue
		}
		if err != nil || report.Strategy != c.want {
			t.Errorf("output %q, limit %d: %v is planned, want %s; error %v", c.output, c.limit, report, c.want, err)
		}
	}
}
