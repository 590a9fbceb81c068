package pipe

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device/arena"
)

// NewWriter returns a writer to w that is more efficient if w is a pipe and memoryBytes is at
// least WriterBytes. Otherwise it returns w. Its Close frees the memory and leaves w open.
//
// Write copies to a huge page and lets the pipe refer to its parts (vmsplice). The reader may
// splice them on and refer to them for any length of time. So no byte of the page is ever written
// twice: when the page is full, the writer unmaps it and allocates another one. The last
// reference frees the page.
func NewWriter(w io.Writer, memoryBytes int64) io.WriteCloser {
	raw, ok := pipeOf(w)
	if !ok || memoryBytes < WriterBytes || !hugePages() {
		return unclosed{w}
	}
	return &writer{pipe: raw, plain: w}
}

// hugePages reports whether the system provides huge pages on request. Small pages would cost
// more than they save.
func hugePages() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !strings.Contains(string(mode), "[never]")
}

type writer struct {
	pipe  syscall.RawConn
	plain io.Writer     // used if the system cannot splice
	page  *arena.Memory // the pipe may refer to all bytes before at
	at    int
	whole atomic.Bool // plain is in use
}

func (w *writer) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) && !w.whole.Load() {
		free, err := w.free()
		if err != nil {
			w.whole.Store(true)
			break
		}

		n := copy(free, p[written:])
		w.at += n
		n, err = w.splice(free[:n])
		if written += n; err != nil {
			return written, err
		}
	}

	if written == len(p) {
		return written, nil
	}
	n, err := w.plain.Write(p[written:])
	return written + n, err
}

// free returns memory for the next step.
func (w *writer) free() ([]byte, error) {
	if w.page == nil || w.at == WriterBytes {
		w.page.Free()
		page, err := arena.Alloc(WriterBytes)
		if err != nil {
			return nil, err
		}
		w.page, w.at = page, 0
	}
	return w.page.Bytes()[w.at:min(w.at+step, WriterBytes)], nil
}

// splice passes memory to the pipe. It passes all of it unless there is an error or the system
// refuses.
func (w *writer) splice(memory []byte) (written int, err error) {
	failed := w.pipe.Write(func(fd uintptr) bool {
		for written < len(memory) {
			rest := memory[written:]
			part := unix.Iovec{Base: &rest[0]}
			part.SetLen(len(rest))
			var n int
			n, err = uninterrupted(func() (int, error) {
				return unix.Vmsplice(int(fd), []unix.Iovec{part}, 0)
			})
			if written += n; err != nil {
				return !errors.Is(err, unix.EAGAIN) // false waits until the pipe has space
			}
		}

		return true
	})
	switch {
	case failed != nil:
		return written, failed
	case isRefused(err):
		w.whole.Store(true)
		return written, nil
	}

	return written, os.NewSyscallError("vmsplice", err)
}

func (w *writer) Close() error {
	err := w.page.Free()
	w.page = nil
	return err
}
