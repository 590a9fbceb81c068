//go:build unix

package output

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

func makeFIFO(t *testing.T, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
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
