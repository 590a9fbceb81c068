//go:build unix

package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func makeFIFO(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
}

// TestOutputWithoutRoom says what can be done about it.
func TestOutputWithoutRoom(t *testing.T) {
	for cause, says := range map[error]string{
		syscall.ENOSPC: "is full", syscall.EDQUOT: "has no quota left", syscall.EFBIG: "takes no larger file",
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
				!strings.Contains(err.Error(), ": make room, or name an output elsewhere") {
				t.Errorf("%s: %v", at, err)
			}
		}
	}
}

func TestStreamSinkKeepsEPIPE(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	s := NewStreamSink(w, 1)
	for first := range int64(2) {
		if err := s.WriteBlock(t.Context(), first, []byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("block %d to a closed pipe: %v", first, err)
		}
	}
}
