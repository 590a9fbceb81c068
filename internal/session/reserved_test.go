package session

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
)

// reservingStore has files that occupy space like files with direct I/O on a disk: every page that
// is reserved or written counts.
type reservingStore struct {
	spill.Disk
	room, used, most, reservations atomic.Int64
}

type reservingFile struct {
	spill.File
	store *reservingStore
	mu    sync.Mutex
	taken map[int64]bool // pages
}

func (s *reservingStore) Free([]string) int64 { return s.room.Load() }

func (s *reservingStore) Create(folder string) (spill.File, error) {
	f, err := s.Disk.Create(folder)
	return &reservingFile{File: f, store: s, taken: map[int64]bool{}}, err
}

// Uncache returns true, as if the file used direct I/O. In fact, requests still go to the page
// cache.
func (f *reservingFile) Uncache() bool { return true }

func (f *reservingFile) Allocate(offset, bytes int64) error {
	f.store.reservations.Add(1)
	return f.take(offset, bytes)
}

// take allocates the missing pages of a range. If space is insufficient, it allocates none of them.
func (f *reservingFile) take(offset, bytes int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pages []int64
	for page := offset / plan.SpillAlign; page*plan.SpillAlign < offset+bytes; page++ {
		if !f.taken[page] {
			pages = append(pages, page)
		}
	}
	need := int64(len(pages)) * plan.SpillAlign
	used := f.store.used.Add(need)
	if used > f.store.room.Load() {
		f.store.used.Add(-need)
		return syscall.ENOSPC
	}
	f.store.most.Store(max(used, f.store.most.Load()))
	for _, page := range pages {
		f.taken[page] = true
	}
	return nil
}

func (f *reservingFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.take(offset, int64(len(p))); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, offset)
}

// Release does nothing, because a plan does not count on released space.
func (f *reservingFile) Release(offset, bytes int64) {}

// TestReservedRoomIsPlanned sorts with direct I/O and less and less space, on a disk that
// reserves space on request. A sort that was planned does not run out of space. With much space,
// it uses hardly more than planned.
func TestReservedRoomIsPlanned(t *testing.T) {
	inLittleMemory(t, pastCacheMemory)
	k := kindNamed("gensort")
	data := k.make(t, "uniform", 160_000, rand.New(rand.NewPCG(41, 42)))
	in := writeFile(t, data)
	for _, strategy := range []Strategy{Partition, MergeRuns} {
		sorted, refused, reserved := 0, 0, false
		for _, twelfths := range []int64{6, 11, 12, 13, 14, 16, 20, 24, 26, 28, 32, 40, 60} {
			store := &reservingStore{}
			store.room.Store(int64(len(data)) * twelfths / 12)
			opt := Options{Record: k.spec, Inputs: []string{in}, MemoryBytes: pastCacheMemory, Workers: 8,
				Strategy: strategy, SpillCompress: "none", Verify: true, TempDirs: []string{t.TempDir()},
				Output: filepath.Join(t.TempDir(), "out")}
			opt.faults.chunkRecords, opt.faults.blockBytes, opt.faults.spillStore = 4000, 64<<10, store
			report, err := Sort(t.Context(), opt)
			if err != nil {
				if refused++; store.most.Load() > 0 {
					t.Errorf("%s, room for %d/12: failed half way: %v", strategy, twelfths, err)
				}
				continue
			}
			if report.Strategy != strategy {
				t.Errorf("%s, room for %d/12: sorted by %s", strategy, twelfths, report.Strategy)
			}
			sorted++
			reserved = reserved || store.reservations.Load() > 0
			if most := report.BytesSpilled * 3 / 2; store.most.Load() > most {
				t.Errorf("%s, room for %d/12: %d bytes were taken for %d of spill", strategy, twelfths, store.most.Load(),
					report.BytesSpilled)
			}
		}
		if sorted == 0 || refused == 0 || !reserved {
			t.Errorf("%s: %d sorts, %d refusals, room was reserved: %t", strategy, sorted, refused, reserved)
		}
	}
}

// TestTemporaryFilesInMemory checks that a temporary directory in memory causes one warning if
// the sort may spill. Its free space is the memory beyond the limit.
func TestTemporaryFilesInMemory(t *testing.T) {
	memory, onDisk := systemMemory, isOnDisk
	defer func() { systemMemory, isOnDisk = memory, onDisk }()
	folder := t.TempDir()
	isOnDisk = func(name string) bool { return name != folder }
	k := kindNamed("gensort")
	data := k.make(t, "uniform", 40_000, rand.New(rand.NewPCG(43, 44))) // 4 MB
	for _, c := range []struct {
		name     string
		memory   int64
		strategy Strategy
		chunk    int64
		warnings int
		refused  bool
	}{
		{"room", 1 << 30, MergeRuns, 9000, 1, false},
		{"no room", 65 << 20, MergeRuns, 9000, 0, true},
		{"in core", 65 << 20, Auto, 0, 0, false},
	} {
		systemMemory = func() int64 { return c.memory }
		var warnings []string
		opt := Options{Record: k.spec, Inputs: []string{writeFile(t, data)}, MemoryBytes: 64 << 20,
			Strategy: c.strategy, TempDirs: []string{folder}, Output: filepath.Join(t.TempDir(), "out"),
			Warn: func(message string) { warnings = append(warnings, message) }}
		opt.faults.chunkRecords = c.chunk
		for what, run := range map[string]func() error{
			"plan": func() error { _, err := Plan(t.Context(), opt); return err },
			"sort": func() error { _, err := Sort(t.Context(), opt); return err },
		} {
			warnings = nil
			err := run()
			refused := err != nil && strings.Contains(err.Error(), "the sort needs")
			if refused != c.refused || err != nil && !refused {
				t.Errorf("%s, %s: error %v", c.name, what, err)
			}
			if len(warnings) != c.warnings || c.warnings > 0 && !strings.Contains(warnings[0], folder+" is in memory") {
				t.Errorf("%s, %s: the warnings are %q", c.name, what, warnings)
			}
		}
	}
}
