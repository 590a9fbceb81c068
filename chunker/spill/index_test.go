package spill

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format/formattest"
)

// indexedSpill returns a spill with hardly any memory for its indexes, which are therefore in a
// file.
func indexedSpill(t *testing.T, store Store, checkpoint *Checkpoint) *Spill {
	t.Helper()
	opt := Options{Store: store, IndexBytes: 1, Checkpoint: checkpoint}
	if checkpoint != nil {
		opt.Store, opt.Folders = checkpoint, []string{checkpoint.Folder()}
	}
	return openSpill(t, opt)
}

// shuffledRun writes a run whose blocks come in random order, some of them from several goroutines.
func shuffledRun(t *testing.T, s *Spill, recs []byte, blockRecords int) *Run {
	t.Helper()
	w := s.NewRun(Origin{Records: int64(len(recs) / 8)})
	var group sync.WaitGroup
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm((len(recs)/8 + blockRecords - 1) / blockRecords) {
		from, to := 8*i*blockRecords, min(8*(i+1)*blockRecords, len(recs))
		write := func() {
			if err := w.WriteBlock(t.Context(), int64(from/8), recs[from:to]); err != nil {
				t.Error(err)
			}
		}
		if i%3 == 0 {
			group.Go(write)
		} else {
			write()
		}
	}
	group.Wait()
	run, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// readPieces reads a source in pieces of a number of records.
func readPieces(t *testing.T, src device.Source, records int) (all []byte) {
	t.Helper()
	for {
		piece := make([]byte, 8*records)
		_, n, err := src.Next(records, func(int64, int) []byte { return piece })
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return all
		}
		all = append(all, piece[:8*n]...)
	}
}

// TestIndexInFile reads runs whose indexes do not fit in memory, in every way that a run is read.
func TestIndexInFile(t *testing.T) {
	for _, blocks := range []int{1, 7, 8, 63, 64, 65, 191, 192, 193, 5000} {
		s := indexedSpill(t, nil, nil)
		want := formattest.Numbered(0, 10*blocks-3)
		run := shuffledRun(t, s, want, 10)
		if blocks >= plan.LeastStored && (run.indexes[0].stored != blocks || s.index.held.Load() != 0) {
			stored, held := run.indexes[0].stored, s.index.held.Load()
			t.Errorf("%d of %d entries are in the file, %d bytes in memory", stored, blocks, held)
		}
		if got, err := readRun(run); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d blocks: others were read, error %v", blocks, err)
		}
		for _, piece := range []int{7, 10, 35, len(want)} {
			if got := readPieces(t, run.Source(0, run.Blocks()), piece); !bytes.Equal(got, want) {
				t.Errorf("%d blocks, pieces of %d: others came", blocks, piece)
			}
		}
		middle := run.Blocks() / 2
		if got := readPieces(t, run.Source(middle, run.Blocks()), 20); !bytes.Equal(got, want[80*middle:]) {
			t.Errorf("%d blocks from block %d on: others came", blocks, middle)
		}
		for _, first := range []int64{0, 1, 10, int64(len(want)/8) - 1, int64(len(want) / 8)} {
			rest, err := run.From(min(first, run.Records()))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := readRun(rest); err != nil || !bytes.Equal(got, want[8*min(first, run.Records()):]) {
				t.Errorf("%d blocks from record %d on: others were read, error %v", blocks, first, err)
			}
		}
		if err := errors.Join(run.Close(), run.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestIndexStaysInMemory checks that an index is written to a file only if its memory is full, and
// then not before it has enough entries for a write.
func TestIndexStaysInMemory(t *testing.T) {
	const blocks = 3 * plan.LeastStored
	for _, c := range []struct {
		limit int64
		every int // number of blocks after which the index is stored
	}{
		{0, 2 * blocks}, // no limit
		{1 << 30, 2 * blocks},
		{1, plan.LeastStored},
	} {
		s := indexedSpill(t, nil, nil)
		s.index.limit = c.limit
		to := &Appender{}
		for block := range blocks {
			if err := s.Append(to, 0, formattest.Numbered(10*block, 10)); err != nil {
				t.Fatal(err)
			}
			appended := block + 1
			if got, want := to.index.stored, appended/c.every*c.every; got != want {
				t.Errorf("limit %d: %d of %d entries are in the file, want %d", c.limit, got, appended, want)
			}
		}
	}
}

// TestAppendedIndexInFile joins the blocks of several appenders, which take turns with the
// sections.
func TestAppendedIndexInFile(t *testing.T) {
	const sections, each = 6, 1000
	for _, limit := range []int64{0, 1} {
		s := indexedSpill(t, nil, nil)
		s.index.limit = limit
		appenders := []*Appender{{}, {}, {}}
		var want []byte
		for section := range sections {
			recs := formattest.Numbered(section*each*10, each*10-section)
			want = append(want, recs...)
			for len(recs) > 0 {
				n := min(80, len(recs))
				if err := s.Append(appenders[section%2], int64(section), recs[:n]); err != nil {
					t.Fatal(err)
				}
				recs = recs[n:]
			}
		}
		run, same, err := s.Join(appenders)
		if err != nil || same || run.Blocks() != sections*each || run.Records() != int64(len(want)/8) {
			t.Fatalf("%d blocks, %d records, all keys are the same: %t, error %v", run.Blocks(), run.Records(), same, err)
		}
		if got := readPieces(t, run.Source(0, run.Blocks()), 100); !bytes.Equal(got, want) {
			t.Errorf("limit %d: others came", limit)
		}
		record := make([]byte, 8)
		for _, at := range []int{0, 9, 10, 29_999, 30_000, len(want)/8 - 1} {
			err := (&Reader{Run: run}).ReadRecords(record, int64(at))
			if err != nil || !bytes.Equal(record, want[8*at:8*at+8]) {
				t.Errorf("limit %d: another record is number %d, error %v", limit, at, err)
			}
		}
	}
}

// TestDamagedIndex checks that an index that is modified or truncated in its file causes an error.
func TestDamagedIndex(t *testing.T) {
	store := &memoryStore{}
	s := indexedSpill(t, store, nil)
	run := shuffledRun(t, s, formattest.Numbered(0, 5000), 10)
	file := store.files[len(store.files)-1]
	file.data[run.indexes[0].regions[2]+20] ^= 1
	if _, err := readRun(run); err == nil || !strings.Contains(err.Error(), "the index of temporary data") ||
		!strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a changed index: %v", err)
	}
	file.data = file.data[:run.indexes[0].regions[2]]
	_, _, err := run.Source(300, 400).Next(1, nil)
	if err == nil || !strings.Contains(err.Error(), "read the index of temporary data") {
		t.Errorf("an index that is cut short: %v", err)
	}
}

// TestCheckpointKeepsIndexFile continues with runs whose indexes are in a file.
func TestCheckpointKeepsIndexFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	want := formattest.Numbered(0, 3000)
	for round := range 3 {
		c := openCheckpoint(t, folder, false)
		s := indexedSpill(t, nil, c)
		kept := s.CheckpointRuns()
		if len(kept) != round {
			t.Fatalf("round %d: %d runs are kept", round, len(kept))
		}
		for i, run := range kept {
			if got, err := readRun(run); err != nil || !bytes.Equal(got, want) || run.indexes[0].stored == 0 {
				t.Errorf("round %d: run %d is another, error %v", round, i, err)
			}
		}
		w := s.NewRun(Origin{First: int64(3000 * round), Records: 3000})
		for at := 0; at < len(want); at += 80 {
			if err := w.WriteBlock(t.Context(), int64(at/8), want[at:at+80]); err != nil {
				t.Fatal(err)
			}
		}
		if round == 1 {
			s.index.limit = 1 << 20 // entries still in memory belong to the same index
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Wait(), s.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		if others, _ := filepath.Glob(filepath.Join(folder, runIndexPrefix+"*")); len(others) > 0 {
			t.Errorf("round %d: the blocks of a run are written again, to %q", round, others)
		}
	}
}
