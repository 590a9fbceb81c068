package device

import (
	"errors"
	"io/fs"
	"runtime/debug"
)

// WithoutPath returns err without the path that package os puts before it, for messages that name
// the file themselves.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Guard calls f, which reads a memory-mapped file. If the file was truncated or its disk fails,
// the system signals a fault. Guard then returns the error that fault returns for the address. If
// that is nil, the address is not in the map, and the panic continues.
func Guard(f func() error, fault func(at uintptr) error) (err error) {
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
