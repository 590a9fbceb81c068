package device

import (
	"errors"
	"io/fs"
	"runtime/debug"
)

// WithoutPath returns an error whose text has no path, for messages that name the file anyway. It still wraps the
// *fs.PathError, so that errors.As finds it.
func WithoutPath(err error) error {
	if _, isDone := errors.AsType[withoutPath](err); isDone {
		return err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return withoutPath{path}
	}
	return err
}

type withoutPath struct{ path *fs.PathError }

func (e withoutPath) Error() string { return e.path.Err.Error() }

func (e withoutPath) Unwrap() error { return e.path }

// CatchFault calls f, which reads a memory-mapped file. If the file was truncated or its disk fails,
// the system signals a fault. CatchFault then returns the error that fault returns for the address. If
// that is nil, the address is not in the map, and the panic continues.
func CatchFault(f func() error, fault func(at uintptr) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		panicked := recover()
		if panicked == nil {
			return
		}
		if addressed, ok := panicked.(interface{ Addr() uintptr }); ok {
			err = fault(addressed.Addr())
		}
		if err == nil {
			panic(panicked)
		}
	}()
	return f()
}
