package input

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// askedRecords collects the requested records.
type askedRecords struct {
	mu     sync.Mutex
	ranges [][2]int64
}

func (a *askedRecords) askFor(first, n int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ranges = append(a.ranges, [2]int64{first, first + n})
}

// joined returns the requested ranges in order, with adjacent ranges joined. It fails the test if
// a record was requested twice.
func (a *askedRecords) joined(t *testing.T) (ranges [][2]int64) {
	t.Helper()
	slices.SortFunc(a.ranges, func(a, b [2]int64) int { return int(a[0] - b[0]) })
	for _, r := range a.ranges {
		if n := len(ranges); n > 0 && r[0] < ranges[n-1][1] {
			t.Errorf("records [%d, %d) were asked for twice", r[0], ranges[n-1][1])
		} else if n > 0 && r[0] == ranges[n-1][1] {
			ranges[n-1][1] = r[1]
			continue
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// TestReadAheadOnlyFromDisk reads 64 MiB in pieces, a part of them from a disk, and then data in
// memory.
func TestReadAheadOnlyFromDisk(t *testing.T) {
	const piece = 256 << 10
	for name, c := range map[string]struct {
		every int // one piece in this number comes from a disk; 0: none
		want  bool
	}{
		"memory": {0, false}, "a disk": {1, true}, "half from a disk": {2, true}, "hardly anything from a disk": {16, false},
	} {
		fetched := int64(1 << 30) // by earlier reads of the process
		a := newAhead(8, nil)
		a.diskBytes = func() int64 { return fetched }
		a.lastDiskBytes.Store(fetched)
		read := func(pieces, every int) {
			for i := range pieces {
				if every > 0 && i%every == 0 {
					fetched += piece
				}
				a.noteRead(piece)
			}
		}
		read(64<<20/piece, c.every)
		if got := a.fromDisk(); got != c.want {
			t.Errorf("%s: from a disk: %t, want %t", name, got, c.want)
		}
		read(16<<20/piece, 0) // was requested before
		if got := a.fromDisk(); got != c.want {
			t.Errorf("%s: from a disk after what was asked for before: %t, want %t", name, got, c.want)
		}
		read(diskShare*64<<20/piece, 0)
		if a.fromDisk() {
			t.Errorf("%s: from a disk, when nothing came from it any more", name)
		}
		fetched += 100 << 30
		read(2*lookEvery/piece, 0)
		if !a.fromDisk() {
			t.Errorf("%s: in memory, when all came from a disk", name)
		}
		read(int(diskShare*(maxSurplus+64<<20)/piece), 0)
		if a.fromDisk() {
			t.Errorf("%s: from a disk, when much was read and nothing came from it", name)
		}
	}
}

// TestReadAhead reads a source from a disk by several workers: every record but the first is
// requested once, before it is read.
func TestReadAhead(t *testing.T) {
	const size, records, unit = 64, 3_000_000, 4096
	var asked askedRecords
	a := newAhead(size, asked.askFor)
	a.surplusBytes.Store(1)
	var fetched atomic.Int64
	a.diskBytes = func() int64 { return fetched.Add(1 << 30) }
	reads := func(p []byte, first int64) error { return nil }
	src := &section{first: 1000, records: records, recordBytes: size, readRecords: reads, ahead: a}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			p := make([]byte, unit*size)
			for {
				at, n, err := src.Next(unit, func(int64, int) []byte { return p })
				if n == 0 || err != nil {
					return
				}
				if asked := src.prefetchedTo.Load(); asked < min(at+unit+a.windowRecords, records) {
					t.Errorf("record %d is read, and only those up to %d were asked for", at, asked)
				}
			}
		})
	}
	group.Wait()
	got := asked.joined(t)
	if len(got) != 1 || got[0][0] > 1000+4*unit || got[0][1] != 1000+records {
		t.Errorf("asked for %v, of records from 1000 on", got)
	}
	for _, r := range asked.ranges {
		if r[1]-r[0] > a.stepRecords {
			t.Errorf("%v was asked for at once", r)
		}
	}
}

// TestReadAheadBefore requests the first records of a source before it is read. They must not be
// requested again.
func TestReadAheadBefore(t *testing.T) {
	const size, records = 100, 1_000_000
	var asked askedRecords
	a := newAhead(size, asked.askFor)
	src := &section{records: records, recordBytes: size, ahead: a, readRecords: func([]byte, int64) error { return nil }}
	src.ReadAhead(t.Context(), 10<<20)
	if len(asked.ranges) > 0 {
		t.Errorf("%v was asked for, and nothing told of a disk", asked.ranges)
	}
	a.surplusBytes.Store(maxSurplus)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	src.ReadAhead(cancelled, 10<<20)
	if len(asked.ranges) > 0 {
		t.Errorf("%v was asked for, and the sort was cancelled", asked.ranges)
	}
	src.ReadAhead(t.Context(), 10<<20)
	if got := asked.joined(t); len(got) != 1 || got[0] != [2]int64{0, 10 << 20 / size} {
		t.Errorf("asked for %v of 10 MiB", got)
	}
	p := make([]byte, 1000*size)
	src.Next(1000, func(int64, int) []byte { return p })
	if got := asked.joined(t); len(got) != 1 || got[0] != [2]int64{0, 1000 + a.windowRecords} {
		t.Errorf("asked for %v, when the first 1000 records were read", got)
	}
	src.ReadAhead(t.Context(), 1<<40)
	if got := asked.joined(t); len(got) != 1 || got[0] != [2]int64{0, records} {
		t.Errorf("asked for %v of all", got)
	}
}

// TestFilesEach finds records in several files, including empty ones.
func TestFilesEach(t *testing.T) {
	var names []string
	for i, n := range []int{100, 0, 1, 50, 0} {
		name := filepath.Join(t.TempDir(), strconv.Itoa(i))
		testfiles.Write(t, name, make([]byte, 8*n))
		names = append(names, name)
	}
	inputs := openTyped(t, "u64", names...)
	f := NewFiles(inputs)
	defer f.Close()
	for first := range f.Records() {
		for n := int64(1); first+n <= f.Records(); n++ {
			next := first
			f.eachInput(first, n, func(in *Input, from, n int64) {
				at := f.starts[slices.Index(f.inputs, in)] + from
				if n <= 0 || from < 0 || from+n > in.Records || at != next {
					t.Errorf("%d records from %d on: input of %d has records from %d on, %d of them, from %d of all on; %d is due",
						n, first, in.Records, from, n, at, next)
				}
				next = at + n
			})
			if next != first+n {
				t.Fatalf("%d records from %d on: found those up to %d", n, first, next)
			}
			f.prefetch(first, n) // changes nothing
		}
	}
}
