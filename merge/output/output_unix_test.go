//go:build unix

package output

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/internal/testfiles"
)

func makeFIFO(t *testing.T, name string) {
	t.Helper()
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
}

// TestOutputWithoutRoom checks that the error says what to do.
func TestOutputWithoutRoom(t *testing.T) {
	for cause, says := range map[error]string{
		syscall.ENOSPC: "is full: free some space", syscall.EDQUOT: "has no quota left: free some space",
		syscall.EFBIG: "allows no larger file (ulimit -f, or its own limit): raise ulimit -f",
	} {
		for _, at := range []string{"write output", "reserve output"} {
			name := filepath.Join(t.TempDir(), "out")
			err := writeThree(name, func(operation string) error {
				if operation == at {
					return cause
				}
				return nil
			})
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), says) ||
				!strings.Contains(err.Error(), ", or write elsewhere") {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
}

func TestStreamSinkKeepsEPIPE(t *testing.T) {
	r, w := testfiles.Pipe(t)
	r.Close()
	s := NewStreamSink(w, 1)
	for first := range int64(2) {
		if err := s.WriteBlock(t.Context(), first, []byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("block %d to a closed pipe: %v", first, err)
		}
	}
}

// TestFIFOWaitsForReader opens a FIFO before it has a reader. The reader must get everything.
func TestFIFOWaitsForReader(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	makeFIFO(t, name)
	got := make(chan []byte)
	go func() {
		time.Sleep(5 * fifoPause)
		r, err := os.Open(name)
		if err != nil {
			t.Error(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Error(err)
		}
		got <- data
	}()
	out := openOutput(t, name, FileOptions{})
	data := make([]byte, 3<<20) // more than a pipe holds
	if _, err := out.Write(data); err != nil {
		t.Error(err)
	}
	if err := out.Commit(t.Context(), -1); err != nil {
		t.Error(err)
	}
	if n := len(<-got); n != len(data) {
		t.Errorf("%d of %d bytes came", n, len(data))
	}
}

// TestFIFOEndsWithContext cancels an output that waits for a reader of a FIFO.
func TestFIFOEndsWithContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "fifo")
	makeFIFO(t, name)
	ctx, cancel := context.WithTimeout(t.Context(), 5*fifoPause)
	defer cancel()
	if _, err := Open(ctx, name, FileOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", err)
	}
}
