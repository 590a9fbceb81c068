package pipe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// pipeData returns several times the capacity of a pipe, in pieces of mostly odd lengths.
func pipeData(seed uint64) (all []byte, pieces [][]byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	all = formattest.Bytes(r, 4*capacity+12345)
	for rest := all; len(rest) > 0; {
		n := min(1+r.IntN(3*step), len(rest))
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	return all, pieces
}

// feed writes pieces to a pipe and closes it.
func feed(t *testing.T, w *os.File, pieces [][]byte) {
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			t.Errorf("feed: %v", err)
		}
	}
	w.Close()
}

// readOddly reads to the end in pieces of changing length.
func readOddly(r io.Reader) (all []byte, err error) {
	lengths := rand.New(rand.NewPCG(3, 1))
	for buffer := make([]byte, 1<<20); err == nil; {
		var n int
		n, err = r.Read(buffer[:1+lengths.IntN(len(buffer))])
		all = append(all, buffer[:n]...)
	}
	if err == io.EOF {
		err = nil
	}
	return all, err
}

func TestReader(t *testing.T) {
	all, pieces := pipeData(4)
	for _, capacity := range []int{4096, 64 << 10, 1 << 20} {
		from, to := testfiles.Pipe(t)
		r := NewReader(t.Context(), from)
		if _, err := unix.FcntlInt(from.Fd(), unix.F_SETPIPE_SZ, capacity); err != nil {
			t.Skip(err)
		}
		if _, ok := r.(*reader); !ok {
			t.Fatalf("the reader of a pipe is %T", r)
		}
		go feed(t, to, pieces)
		if got, err := readOddly(r); err != nil || !bytes.Equal(got, all) {
			t.Errorf("pipe of %d bytes: %d of %d bytes, equal: %t, error %v", capacity, len(got), len(all), bytes.Equal(got,
				all), err)
		}
		if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("Read after the end: %d, %v", n, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReaderDoesNotWaitForMore checks that a Read returns the available bytes, however few they
// are.
func TestReaderDoesNotWaitForMore(t *testing.T) {
	from, to := testfiles.Pipe(t)
	r := NewReader(context.Background(), from)
	defer r.Close()
	for _, piece := range []string{"abc", "d", strings.Repeat("e", 5000)} {
		to.Write([]byte(piece))
		got := make([]byte, 10_000)
		read := make(chan int)
		go func() {
			n, _ := io.ReadAtLeast(r, got, len(piece))
			read <- n
		}()
		select {
		case n := <-read:
			if string(got[:n]) != piece {
				t.Errorf("%d bytes of %d", n, len(piece))
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d bytes do not come through", len(piece))
		}
	}
}

// TestReaderFallsBack checks that data is read without splice if the system refuses it. Here the
// pipe in between cannot be written to.
func TestReaderFallsBack(t *testing.T) {
	from, _ := testfiles.Pipe(t)
	raw, ok := pipeOf(from)
	if !ok {
		t.Fatal("a pipe is not known as one")
	}
	r := newReader(raw, strings.NewReader("plain"))
	defer unix.Close(r.private[0])
	unix.Close(r.private[1])
	r.private[1] = r.private[0] // which cannot be written: EBADF
	if got, err := io.ReadAll(r); string(got) != "plain" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestReaderOfNonPipes checks that readers other than pipes are returned unchanged, unless a Read
// might have to be abandoned.
func TestReaderOfNonPipes(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for from, ctx := range map[io.Reader]context.Context{strings.NewReader(""): context.Background(), file: t.Context()} {
		if r := NewReader(ctx, from); r != io.NopCloser(from) {
			t.Errorf("the reader of %T is %T", from, r)
		}
	}
	text := strings.Repeat("text", step)
	if got, err := readOddly(NewReader(t.Context(), strings.NewReader(text))); string(got) != text || err != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestReaderFails checks that an error of the pipe is not taken for its end.
func TestReaderFails(t *testing.T) {
	from, _ := testfiles.Pipe(t)
	r := NewReader(context.Background(), from)
	defer r.Close()
	from.Close()
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, io.EOF) {
		t.Errorf("Read from a closed pipe: %d, %v", n, err)
	}
}

// TestReaderWaits reads an empty pipe with a cancelled context. A reader that ignored the context
// would wait forever.
func TestReaderWaits(t *testing.T) {
	from, _ := testfiles.Pipe(t)
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(t.Context())
	end(ended)
	r := NewReader(ctx, from)
	if _, ok := r.(*reader); !ok {
		t.Fatalf("the reader of a pipe is %T", r)
	}
	defer r.Close()
	if n, err := r.Read(make([]byte, 8)); n != 0 || err != ended {
		t.Errorf("%d, %v, want 0, %v", n, err, ended)
	}
}
