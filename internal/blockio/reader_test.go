package blockio

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/extsort/extsort/internal/safely"
)

// TestReader reads the units of testdata/reader.txt by several callers at a time. The units are
// consecutive in two files, or each has its own position.
func TestReader(t *testing.T) {
	rows(t, "reader.txt", func(t *testing.T, r row) {
		synctest.Test(t, func(t *testing.T) {
			r.t = t
			readRow(t, r)
		})
	})
}

func readRow(t *testing.T, r row) {
	p := NewPool(Options{Bytes: r.number("request"), Reads: r.number("reads"), Demand: r.number("demand")})
	u := newUnits(t, r)
	got := make([]byte, len(u.want))
	reader := NewReader(p, u.options())
	err := readAll(reader, u, got, r.number("callers"))

	switch want := r.values["result"]; {
	case want == "ok" && (err != nil || !bytes.Equal(got, u.want)):
		t.Errorf("other bytes came, error %v", err)
	case want != "ok" && !errors.Is(err, errDisk):
		t.Errorf("error %v", err)
	}
	requests, most := u.load()
	if limit := p.mostAhead() + r.number("callers"); most > limit {
		t.Errorf("%d requests at a time, at most %d are allowed", most, limit)
	}
	if r.values["result"] == "ok" && requests > r.number("requests") {
		t.Errorf("%d requests, want %s at most", requests, r.values["requests"])
	}
	reader.GiveUp()
	allBack(t, p)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// units are the units of a test and their content.
type units struct {
	n       int64
	size    int64   // 0: the sizes differ
	starts  []int64 // of each unit in want, if the sizes differ
	files   []*memoryFile
	base    int64 // position of the first unit in the first file
	want    []byte
	cutAt   int64 // the first unit in the second file
	strides int64 // distance of units whose sizes differ, in their file
}

func newUnits(t *testing.T, r row) *units {
	u := &units{n: int64(r.number("units")), size: int64(r.number("size")), base: int64(r.number("base"))}
	props := Props{Align: r.number("align"), Cached: r.values["cached"] == "yes"}
	u.cutAt = u.n / 3
	u.strides = 3 * Align
	bytes := []int64{u.base + u.cutAt*u.size, (u.n - u.cutAt) * u.size}
	if u.size == 0 {
		bytes = []int64{u.n * u.strides, u.n * u.strides}
	}
	for i := range 2 {
		f := newMemoryFile(t, int(bytes[i]), props)
		f.slow = true
		u.files = append(u.files, f)
	}
	u.files[1].failAt = r.number("fail")
	u.files[1].panics = r.values["panics"] == "yes"
	if u.size > 0 {
		u.want = append(append(u.want, u.files[0].data[u.base:]...), u.files[1].data...)
		return u
	}

	random := rand.New(rand.NewPCG(1, 2))
	for i := range u.n {
		bytes := random.Int64N(u.strides) + 1
		u.starts = append(u.starts, int64(len(u.want)))
		u.want = append(u.want, u.file(i).data[i*u.strides:][:bytes]...)
	}
	u.starts = append(u.starts, int64(len(u.want)))
	return u
}

func (u *units) file(unit int64) *memoryFile {
	if unit < u.cutAt {
		return u.files[0]
	}
	return u.files[1]
}

func (u *units) options() ReaderOptions {
	o := ReaderOptions{Units: u.n, UnitBytes: u.size}
	o.Locate = func(first, most int64) (Range, int64, error) {
		f := u.file(first)
		if u.size == 0 {
			return Range{f, first * u.strides, u.starts[first+1] - u.starts[first]}, 1, nil
		}
		if first < u.cutAt {
			n := min(most, u.cutAt-first)
			return Range{f, u.base + first*u.size, n * u.size}, n, nil
		}
		return Range{f, (first - u.cutAt) * u.size, most * u.size}, most, nil
	}
	return o
}

func (u *units) bytes(first, end int64) (from, to int64) {
	if u.size == 0 {
		return u.starts[first], u.starts[end]
	}
	return first * u.size, end * u.size
}

// load returns how many requests there were, and how many at a time.
func (u *units) load() (requests, most int) {
	for _, f := range u.files {
		requests += f.requests
		most = max(most, f.most)
	}
	return requests, most
}

// readAll reads all units, each by one of several callers.
func readAll(r *Reader, u *units, got []byte, callers int) error {
	var mu sync.Mutex
	next := int64(0)
	random := rand.New(rand.NewPCG(3, 4))
	take := func() (first, end int64) {
		mu.Lock()
		defer mu.Unlock()
		first = next
		n := int64(1)
		if u.size > 0 {
			n += random.Int64N(max(3*int64(r.pool.RequestBytes())/u.size, 1))
		}
		next = min(first+n, u.n)
		return first, next
	}
	var group safely.Group
	for range callers {
		group.Go(func() error {
			for first, end := take(); first < end; first, end = take() {
				from, to := u.bytes(first, end)
				if err := r.Read(got[from:to], first, end); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// TestReadAheadOverlaps measures, by the clock of the bubble, that requests overlap: with four at a
// time, a file whose requests take 1 s each is read in a quarter of the time.
func TestReadAheadOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 40
		p := NewPool(Options{Bytes: Align, Reads: 4})
		f := &latentFile{newMemoryFile(t, requests*Align, Props{})}
		r := NewSection(p, f, 0, requests*Align)
		start := time.Now()
		got := make([]byte, requests*Align)
		for at := 0; at < len(got); at += 1000 {
			end := min(at+1000, len(got))
			if err := r.Read(got[at:end], int64(at), int64(end)); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took != requests/4*time.Second || !bytes.Equal(got, f.data) {
			t.Errorf("reading took %v", took)
		}
		allBack(t, p)
	})
}

// latentFile takes a second for each read.
type latentFile struct{ *memoryFile }

func (f *latentFile) ReadAt(p []byte, off int64) (int, error) {
	time.Sleep(time.Second)
	return f.memoryFile.ReadAt(p, off)
}

// TestReadersShare has two Readers of one pool. Each gets half of the requests that read ahead, and
// the second one more when the first has ended.
func TestReadersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Bytes: Align, Reads: 7, Demand: 1})
		f := newMemoryFile(t, 100*Align, Props{})
		f.hold = make(chan struct{})
		first := NewSection(p, f, 0, 100*Align)
		second := NewSection(p, f, 0, 100*Align)
		second.Join()
		first.Ahead()
		if _, ahead, _ := p.Used(); ahead != 3 {
			t.Errorf("the first Reader has %d requests", ahead)
		}
		second.Ahead()
		if _, ahead, _ := p.Used(); ahead != 6 {
			t.Errorf("both Readers have %d requests", ahead)
		}
		first.GiveUp()
		close(f.hold)
		synctest.Wait()
		second.Ahead()
		if _, ahead, _ := p.Used(); ahead != 6 {
			t.Errorf("the second Reader has %d requests", ahead)
		}
		second.GiveUp()
		first.Ahead() // it requests nothing any more
		allBack(t, p)
	})
}

// TestGivenUpWhileCallersWait gives up units while a caller waits for some. The caller gets them,
// and then all memory is given back.
func TestGivenUpWhileCallersWait(t *testing.T) {
	for _, fails := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPool(Options{Bytes: Align, Reads: 4})
			f := newMemoryFile(t, 100*Align, Props{})
			f.hold = make(chan struct{})
			f.failAt = fails
			r := NewSection(p, f, 0, 100*Align)
			result := make(chan error)
			got := make([]byte, 100)
			go func() { result <- r.Read(got, 0, 100) }()
			synctest.Wait()
			r.GiveUp()
			if reads, _, _ := p.Used(); reads != 4 {
				t.Errorf("%d requests have memory while they are in progress", reads)
			}
			close(f.hold)
			// with a failure, it depends on the scheduler which of the first requests fails
			if err := <-result; err != nil && fails == 0 || err == nil && !bytes.Equal(got, f.data[:100]) {
				t.Errorf("other bytes came, error %v", err)
			}
			allBack(t, p)
		})
	}
}

// TestCheck has a Check function that replaces the error of a read. Good units must pass through
// Check whether or not they were read ahead.
func TestCheck(t *testing.T) {
	bad := errors.New("bad unit")
	for _, reads := range []int{0, 4} {
		p := NewPool(Options{Bytes: Align, Reads: reads})
		f := newMemoryFile(t, 10*Align, Props{})
		r := NewReader(p, ReaderOptions{
			Units:     20,
			UnitBytes: Align,
			Locate: func(first, most int64) (Range, int64, error) {
				return Range{f, first * Align, most * Align}, most, nil
			},
			Check: func(first int64, data []byte, err error) error {
				if err != nil {
					return bad
				}
				if len(data)%Align != 0 || !bytes.Equal(data, f.data[first*Align:][:len(data)]) {
					t.Errorf("unit %d: others were checked", first)
				}
				return nil
			},
		})
		got := make([]byte, 20*Align)
		if err := r.Read(got[:10*Align], 0, 10); err != nil || !bytes.Equal(got[:10*Align], f.data) {
			t.Errorf("error %v", err)
		}
		if err := r.Read(got[10*Align:], 10, 20); !errors.Is(err, bad) {
			t.Errorf("units after the end of the file: %v", err)
		}
		r.GiveUp()
		allBack(t, p)
	}
}

// TestLocateFails has a unit whose position is not known. Only the caller that reads this unit gets
// the error.
func TestLocateFails(t *testing.T) {
	p := NewPool(Options{Bytes: Align, Reads: 4})
	f := newMemoryFile(t, 10*Align, Props{})
	r := NewReader(p, ReaderOptions{
		Units: 10,
		Locate: func(first, _ int64) (Range, int64, error) {
			if first == 5 {
				return Range{}, 1, errDisk
			}
			return Range{f, first * Align, Align}, 1, nil
		},
	})
	for i := range int64(10) {
		got := make([]byte, Align)
		if err := r.Read(got, i, i+1); (i == 5) != errors.Is(err, errDisk) {
			t.Errorf("unit %d: error %v", i, err)
		} else if i != 5 && !bytes.Equal(got, f.data[i*Align:][:Align]) {
			t.Errorf("unit %d: other bytes came", i)
		}
	}
	allBack(t, p)
}
