package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestFetched reads records of a remote source by several readers, each roughly in order, with more
// and less memory than they need. Then the memory is freed.
func TestFetched(t *testing.T) {
	const size, records = 24, 100_000
	data := make([]byte, size*records)
	rand.NewChaCha8([32]byte{1}).Read(data)
	for _, memory := range []int64{0, minRequestBytes, 4 * minRequestBytes, plan.RemoteRequests * minRequestBytes} {
		all := remoteInputs(t, bytes.NewReader(data), int64(len(data)))
		AllowRemote(all, memory)
		files := NewFiles(all)
		got := make([]byte, len(data))
		for range 2 { // the second time all records are read again
			clear(got)
			src, err := files.Cut(records)
			if err != nil {
				t.Fatal(err)
			}
			var group safely.Group
			for range 4 {
				group.Go(func() error {
					for {
						_, n, err := src.Next(1+rand.IntN(20_000), func(first int64, _ int) []byte { return got[first*size:] })
						if n == 0 || err != nil {
							return err
						}
					}
				})
			}
			if err := group.Wait(); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes of memory: other records came, error %v", memory, err)
			}
			files.recordsCut = 0
		}
		allGivenBack(t, Remote(all))
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	}
}

// remoteInputs opens a source of records of 24 bytes as if it were a remote object.
func remoteInputs(t *testing.T, r io.ReaderAt, size int64) []*Input {
	t.Helper()
	kind := Kind{Spec: format.Spec{RecordSize: 24, Keys: []string{"0:u64"}}}
	all, err := Open(t.Context(), kind, []Source{{At: r, Size: size}}, nil, format.CommonWindow)
	if err != nil {
		t.Fatal(err)
	}
	all[0].remote = newFetcher()
	all[0].at.remote = all[0].remote
	return all
}

// TestMemoryIsLent lends the memory of remote inputs to an upload when no reader needs it.
func TestMemoryIsLent(t *testing.T) {
	synctest.Test(t, testMemoryIsLent)
}

func testMemoryIsLent(t *testing.T) {
	data := make([]byte, 24<<10)
	all := remoteInputs(t, bytes.NewReader(data), int64(len(data)))
	AllowRemote(all, 4*minRequestBytes)
	parts := blockio.NewPool(blockio.Options{Bytes: minRequestBytes, Writes: 1})
	parts.Borrow(Remote(all), 32)
	files := NewFiles(all)
	src, err := files.Cut(1 << 10)
	if err != nil {
		t.Fatal(err)
	}
	lent := func() (n int) {
		var taken []*blockio.Buf
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			b, err := parts.Get(ctx, blockio.Write)
			cancel()
			if err != nil {
				break
			}
			taken = append(taken, b)
		}
		for _, b := range taken {
			b.Release()
		}
		return len(taken)
	}
	if n := lent(); n != 1 {
		t.Errorf("%d parts have memory while records are read", n)
	}
	if _, _, err := src.Next(1<<10, func(int64, int) []byte { return data }); err != nil {
		t.Fatal(err)
	}
	allGivenBack(t, Remote(all))
	if n := lent(); n != 5 {
		t.Errorf("%d parts have memory when all records were read", n)
	}
	if Remote(nil) != nil {
		t.Error("there are requests without a remote input")
	}
	if err := errors.Join(files.Close(), parts.Close()); err != nil {
		t.Error(err)
	}
}

// slowReader waits until may is closed, and then fails.
type slowReader struct {
	may   chan struct{}
	asked chan int64
}

var errBoom = errors.New("boom")

func (r *slowReader) ReadAt(_ []byte, off int64) (int, error) {
	r.asked <- off
	<-r.may
	return 0, errBoom
}

// TestCloseReaders gives up records while requests are in progress and a reader waits for one.
func TestCloseReaders(t *testing.T) {
	r := &slowReader{may: make(chan struct{}), asked: make(chan int64, 100)}
	f := newFetcher()
	f.divideMemory(4 * minRequestBytes)
	s := newSequenceAhead(f, r, 0, 1<<30)
	read := make(chan error)
	go func() {
		_, err := s.ReadAt(make([]byte, 1000), 0)
		read <- err
	}()
	for range 4 {
		<-r.asked
	}
	f.closeReaders()
	s.by.Ahead() // requests nothing more
	close(r.may)
	if err := <-read; !errors.Is(err, errBoom) || len(r.asked) > 0 {
		t.Errorf("%v, and %d requests more", err, len(r.asked))
	}
	allGivenBack(t, f.pool)
}

// allGivenBack waits until no request has memory.
func allGivenBack(t *testing.T, p *blockio.Pool) {
	t.Helper()
	p.Wait()
	if reads, ahead, writes := p.Used(); reads+writes > 0 {
		t.Fatalf("%d reads, %d of them ahead, and %d writes have memory", reads, ahead, writes)
	}
}

// TestDirectIO reads files with direct I/O and several readers: whole files and a slice, from
// offsets that are not page boundaries, on a file system without direct I/O, with records larger
// than a request, and a file that was truncated.
func TestDirectIO(t *testing.T) {
	for _, size := range []int{8, 100, 300_000} {
		requests := blockio.NewPool(blockio.Options{Bytes: 128 << 10, Reads: 8, Demand: 4})
		var want []byte
		var all []*Input
		for i, records := range []int{0, 1, 2_000_000/size + 7, 512 << 10 / size, 3} {
			data := make([]byte, 3+records*size)
			rand.NewChaCha8([32]byte{byte(i)}).Read(data)
			name := filepath.Join(t.TempDir(), "in")
			testfiles.Write(t, name, data)
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
		if UseDirectIO(all, requests); all[2].direct == nil {
			t.Skip("this file system does not tell that files can be read past the page cache")
		}
		all[3].direct = nil
		files := NewFiles(all)
		for range 2 { // the first time, reading is given up halfway
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
		_, _, err := files.section(all[2].Records, 1).Next(1, func(int64, int) []byte { return make([]byte, size) })
		if !errors.Is(err, errShorter) {
			t.Errorf("a file that got shorter, past the page cache: %v", err)
		}
		if err := files.Close(); err != nil {
			t.Error(err)
		}
		allGivenBack(t, requests)
		if err := requests.Close(); err != nil {
			t.Error(err)
		}
	}
}
