package session

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
)

// noticingStore notices whether anything is read back from it before the input has ended.
type noticingStore struct {
	spill.Disk
	ended, early *atomic.Bool
}

type noticingFile struct {
	spill.File
	store *noticingStore
}

func (s *noticingStore) Create(folder string) (spill.File, error) {
	f, err := s.Disk.Create(folder)
	return noticingFile{f, s}, err
}

func (f noticingFile) ReadAt(p []byte, off int64) (int, error) {
	if !f.store.ended.Load() {
		f.store.early.Store(true)
	}
	return f.File.ReadAt(p, off)
}

// endNoticed is a stream that notices its end.
type endNoticed struct {
	io.Reader
	ended *atomic.Bool
}

func (e endNoticed) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err == io.EOF {
		e.ended.Store(true)
	}
	return n, err
}

// TestRunsAreMergedWhileMoreCome sorts a stream with more chunks than there is memory for the
// indexes of their runs. Some runs are merged before all of them exist. Equal keys must stay in
// order. Short tests have each order of the records and each fan-in, but not all of both.
func TestRunsAreMergedWhileMoreCome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		records int
		early   bool
	}{{"u64", 30_000, true}, {"u64", 3000, false}, {"gensort", 20_000, true}, {"u8", 30_000, false}} {
		for i, dist := range []string{"uniform", "few"} {
			for j, batch := range []int{2, 20, 0} { // 0: a partition
				if testing.Short() && (i+j)%2 > 0 {
					continue
				}
				strategy := MergeRuns
				if batch == 0 {
					strategy = Partition
				}
				what := fmt.Sprintf("%d records of %s, %s, %d at once", c.records, c.name, dist, batch)
				k := kindNamed(c.name)
				data := k.make(t, dist, c.records, rand.New(rand.NewPCG(31, 32)))
				var ended, early atomic.Bool
				var out bytes.Buffer
				opt := Options{Record: k.spec, Stdin: endNoticed{bytes.NewReader(data), &ended}, Stdout: &out,
					Workers: 2, MemoryBytes: MinMemory, Strategy: strategy, BatchSize: batch, Verify: true,
					TempDirs: []string{t.TempDir()}}
				opt.faults.chunkRecords, opt.faults.blockBytes = int64(max(40, 200/k.layout(t).RecordSize)), 200
				opt.faults.spillStore = &noticingStore{ended: &ended, early: &early}
				if _, err := Sort(t.Context(), opt); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !bytes.Equal(out.Bytes(), reference(t, k.layout(t), data, opt)) {
					t.Errorf("%s: the output is wrong", what)
				}
				if c.name != "u8" && batch > 0 && early.Load() != c.early {
					t.Errorf("%s: merged before the end is %t", what, early.Load())
				}
			}
		}
	}
}
