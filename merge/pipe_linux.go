package merge

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/device/arena"
)

// NewPipeWriter gives a writer to w that takes a third of the processor time where w is a pipe and PipeBytes of
// memory may be used, and otherwise w. Its Close gives back the memory, and leaves w open.
//
// A write to a pipe allocates, clears, charges and frees a page for every 4 KiB. The pipe writer instead copies to a huge
// page and lets the pipe refer to its parts (vmsplice). The reader may refer to them for as long as it likes, since it
// may have spliced them on to somebody else; so no byte is ever written twice: when the page is full it is unmapped, the
// last reference frees it, and the writer goes on in another.
func NewPipeWriter(w io.Writer, memoryBytes int64) io.WriteCloser {
	conn, ok := w.(syscall.Conn)
	if !ok || memoryBytes < PipeBytes || !hugePages() {
		return unclosed{w}
	}
	raw, err := conn.SyscallConn()
	if err != nil || !isPipe(raw) {
		return unclosed{w}
	}
	return &pipeWriter{pipe: raw, plain: w}
}

// hugePages reports whether memory comes in huge pages on request: small ones would cost more than they save.
func hugePages() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && !strings.Contains(string(mode), "[never]")
}

func isPipe(raw syscall.RawConn) bool {
	var stat unix.Stat_t
	var err error
	if failed := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &stat) }); failed != nil || err != nil {
		return false
	}
	return stat.Mode&unix.S_IFMT == unix.S_IFIFO
}

type pipeWriter struct {
	pipe  syscall.RawConn
	plain io.Writer     // takes over where the system does not splice
	page  *arena.Memory // the pipe may refer to all of it before at
	at    int
	whole bool // plain has taken over
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) && !w.whole {
		free, err := w.free()
		if err != nil {
			w.whole = true
			break
		}
		n, err := w.splice(free[:copy(free, p[written:])])
		written += n
		switch {
		case n == 0 && isRefused(err):
			w.whole = true
		case err != nil:
			return written, os.NewSyscallError("vmsplice", err)
		}
	}
	if written == len(p) {
		return written, nil
	}
	n, err := w.plain.Write(p[written:])
	return written + n, err
}

// free is memory for the next step.
func (w *pipeWriter) free() ([]byte, error) {
	if w.page == nil || w.at == PipeBytes {
		w.page.Free()
		page, err := arena.Alloc(PipeBytes)
		if err != nil {
			return nil, err
		}
		w.page, w.at = page, 0
	}
	return w.page.Bytes()[w.at:min(w.at+pipeStep, PipeBytes)], nil
}

// splice gives memory to the pipe, all of it unless there is an error.
func (w *pipeWriter) splice(memory []byte) (written int, err error) {
	w.at += len(memory)
	failed := w.pipe.Write(func(fd uintptr) bool {
		for written < len(memory) {
			rest := memory[written:]
			part := unix.Iovec{Base: &rest[0]}
			part.SetLen(len(rest))
			var n int
			n, err = unix.Vmsplice(int(fd), []unix.Iovec{part}, 0)
			if n > 0 {
				written += n
			}
			if err != nil && !errors.Is(err, unix.EINTR) {
				return !errors.Is(err, unix.EAGAIN) // then wait until the pipe has room
			}
		}
		return true
	})
	if failed != nil {
		err = failed
	}
	return written, err
}

// isRefused reports that the system, or a rule of its administrator, does not splice here.
func isRefused(err error) bool {
	return errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EBADF)
}

func (w *pipeWriter) Close() error {
	err := w.page.Free()
	w.page = nil
	return err
}
