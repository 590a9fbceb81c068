//go:build unix

package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rearm is how often the signal that asks is caught anew. LLVM, by which drivers of OpenCL compile, takes it for itself
// whenever it compiles first, and drops it.
const rearm = time.Second

// tellWhenAsked tells of the progress whenever a signal asks, until stop is called.
func tellWhenAsked(a *app) (stop func()) {
	asked, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(asked, asking)
	again := time.NewTicker(rearm)
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-asked:
				printProgress(a)
			case <-again.C:
				signal.Ignore(asking) // else Notify takes its handler for the one that is set
				signal.Notify(asked, asking)
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		telling.Wait()
		again.Stop()
		signal.Stop(asked)
	}
}

// dieOf ends the process by the signal, with its default handling, so that the parent sees what happened: a
// shell stops its loop after Ctrl-C only when the command died of it. Should the signal not kill, the status
// that a shell shows for it is returned. The first process of a container does not die of a signal.
func dieOf(s os.Signal) int {
	number, ok := s.(syscall.Signal)
	if !ok {
		return exitError
	}
	if os.Getpid() == 1 {
		return 128 + int(number)
	}
	signal.Reset(number)
	if number == syscall.SIGQUIT && !systemHandles(number) {
		return 128 + int(number)
	}
	if number == syscall.SIGPIPE {
		// Go's runtime dies of SIGPIPE only in a write to a broken standard output, not when it is sent. It may be another
		// output that is broken: what is standard output by now is nobody's.
		if r, w, err := os.Pipe(); err == nil {
			r.Close()
			if unix.Dup2(int(w.Fd()), 1) == nil {
				os.Stdout.Write([]byte{0})
			}
		}
	} else if err := syscall.Kill(os.Getpid(), number); err == nil {
		time.Sleep(time.Second) // delivery is asynchronous
	}
	return 128 + int(number)
}

// looksClosed reports whether a standard stream is /dev/null, open for reading and writing. That is what Go's runtime
// puts where a descriptor is closed. A shell opens /dev/null for one of the two, but some programs for both, as
// Python's subprocess.DEVNULL does, which cannot be told apart.
func looksClosed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	var open, null unix.Stat_t
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR &&
		unix.Fstat(int(f.Fd()), &open) == nil && unix.Stat(os.DevNull, &null) == nil &&
		open.Mode&unix.S_IFMT == unix.S_IFCHR && open.Rdev == null.Rdev
}

// isReadable reports whether a file was opened to read and write.
func isReadable(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
