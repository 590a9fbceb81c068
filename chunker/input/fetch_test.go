package input

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
)

// TestWindow reads records by several readers, each about in order, with more and less memory than they need.
func TestWindow(t *testing.T) {
	const size, records = 24, 100_000
	data := make([]byte, size*records)
	rand.NewChaCha8([32]byte{1}).Read(data)
	for _, memory := range []int64{minRequestBytes, 4 * minRequestBytes, plan.RemoteRequests * minRequestBytes} {
		r := newRequests()
		r.Allow(memory)
		f := r.prefetcher(size, records, func(p []byte, first int64) error {
			copy(p, data[first*size:])
			return nil
		})
		got := make([]byte, len(data))
		var next atomic.Int64
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for {
					n := 1 + rand.Int64N(20_000)
					first := next.Add(n) - n
					if first >= records {
						return
					}
					n = min(n, records-first)
					if err := f.Read(got[first*size:][:n*size], first, first+n); err != nil {
						t.Error(err)
					}
				}
			})
		}
		readers.Wait()
		if !bytes.Equal(got, data) {
			t.Errorf("%d bytes of memory: other records came", memory)
		}
		allGivenBack(t, r)
	}
}

// TestLend lends memory that no reader needs, and no more.
func TestLend(t *testing.T) {
	r := newRequests()
	r.Allow(4 * minRequestBytes)
	f := r.prefetcher(1, minRequestBytes, func([]byte, int64) error { return nil })
	f.Ahead()
	if r.Lend(1) {
		t.Error("lent what readers need")
	}
	if err := f.Read(make([]byte, minRequestBytes), 0, minRequestBytes); err != nil {
		t.Fatal(err)
	}
	const much = minRequestBytes + 1 // two requests
	for i, want := range []bool{true, true, false} {
		if r.Lend(much) != want {
			t.Errorf("lent the %d. time: %v", i+1, !want)
		}
	}
	second := r.prefetcher(1, minRequestBytes, func([]byte, int64) error { return nil })
	if second.Ahead(); r.free != 0 {
		t.Error("fetched with memory that was lent")
	}
	second.GiveUp()
	r.Return(much)
	if !r.Lend(1) || r.Lend(much) || !r.Lend(1) {
		t.Error("what came back is not lent as it was")
	}
	if none := (*Requests)(nil); none.Lend(1) {
		t.Error("lent of nothing")
	}
}

// TestGivenUp gives up prefetched data while requests are in progress and a reader waits for one.
func TestGivenUp(t *testing.T) {
	r := newRequests()
	r.Allow(4 * minRequestBytes)
	answered, asked := make(chan struct{}), make(chan int64, 100)
	boom := errors.New("boom")
	f := r.prefetcher(1, 1<<30, func(_ []byte, first int64) error {
		asked <- first
		<-answered
		return boom
	})
	read := make(chan error)
	go func() { read <- f.Read(make([]byte, 1000), 0, 1000) }()
	for range 4 {
		<-asked
	}
	r.giveUp()
	f.Ahead() // asks for nothing any more
	close(answered)
	if err := <-read; !errors.Is(err, boom) || len(asked) > 0 {
		t.Errorf("%v, and %d requests more", err, len(asked))
	}
	allGivenBack(t, r)
}

// allGivenBack waits until no request is under way, and none has memory.
func allGivenBack(t *testing.T, r *Requests) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		free, kept, windows := r.free == r.most, len(r.buffers), len(r.prefetchers)
		r.mu.Unlock()
		if free && kept == 0 && windows == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("all requests are over: %v; %d have memory; %d windows", free, kept, windows)
		}
	}
}

// TestDirectIO reads files with direct I/O and several readers: whole files and a slice, from
// offsets that are not page boundaries, on a file system without direct I/O, with records larger
// than a request, and a file that was truncated.
func TestDirectIO(t *testing.T) {
	for _, size := range []int{8, 100, 300_000} {
		queue, err := spill.NewQueue(16, 128<<10)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		var all []*Input
		for i, records := range []int{0, 1, 2_000_000/size + 7, 512 << 10 / size, 3} {
			data := make([]byte, 3+records*size)
			rand.NewChaCha8([32]byte{byte(i)}).Read(data)
			name := filepath.Join(t.TempDir(), "in")
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			kind := Kind{Spec: format.Spec{RecordSize: size, Keys: []string{"0:u64"}}, Frame: Frame{Skip: 3}}
			in, err := Open(t.Context(), kind, Named(name), nil, format.CommonWindow)
			if err != nil {
				t.Fatal(err)
			}
			if data = data[3:]; records > 10 {
				in[0].Slice(5, int64(records))
				data = data[5*size:]
			}
			want, all = append(want, data...), append(all, in...)
		}
		if UseDirectIO(all, queue); all[2].direct == nil {
			t.Skip("this file system does not tell that files can be read past the page cache")
		}
		all[3].direct = nil
		files := NewFiles(all)
		for range 2 { // the first time it is given up half way
			got := make([]byte, len(want))
			var readers sync.WaitGroup
			first := int64(0)
			for _, src := range files.Split(3) {
				base := int(first) * size
				first += src.Records()
				readers.Go(func() {
					for n := 1; n > 0; {
						var err error
						_, n, err = src.Next(1+200_000/size, func(at int64, _ int) []byte { return got[base+int(at)*size:] })
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			readers.Wait()
			if !bytes.Equal(got, want) {
				t.Errorf("records of %d bytes: others came", size)
			}
			if src, err := files.Cut(1000); src != nil && err == nil {
				src.Next(1, func(int64, int) []byte { return got })
			}
		}
		if err := os.Truncate(all[2].Name, 4096); err != nil {
			t.Fatal(err)
		}
		if err := files.ReadRecords(make([]byte, size), all[2].Records); !errors.Is(err, errFault) {
			t.Errorf("a file that got shorter: %v", err)
		}
		_, _, err = files.section(all[2].Records, 1).Next(1, func(int64, int) []byte { return make([]byte, size) })
		shorter := errShorter
		if size > queue.RequestBytes { // such a record is read through the map
			shorter = errFault
		}
		if !errors.Is(err, shorter) {
			t.Errorf("a file that got shorter, past the page cache: %v", err)
		}
		if err := errors.Join(files.Close(), queue.Close()); err != nil {
			t.Error(err)
		}
		for range queue.Ahead() {
			memory, _ := queue.TakeAhead()
			// the memory of a request that was given up returns after the request ends
			for ; memory == nil; memory, _ = queue.TakeAhead() {
				time.Sleep(time.Millisecond)
			}
		}
	}
}
