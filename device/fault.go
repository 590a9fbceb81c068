package device

import (
	"errors"
	"io/fs"
	"runtime/debug"
)

// WithoutPath is err without the path that the os package puts before it, for a message that names the file anyway.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Guard calls f, which uses a map of a file: where the file has become shorter since, or its disk fails, the system
// signals a fault. For one of address at, Guard gives what fault makes of it; nil: it is none of the map's.
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
