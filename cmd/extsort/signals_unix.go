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

// reinstallInterval is the interval at which the handler of the progress signal is reinstalled.
// LLVM, which compiles for some OpenCL drivers, replaces the handler when it first compiles, and
// ignores the signal.
const reinstallInterval = time.Second

// printProgressOnSignal prints a line of progress for each signal that requests it, until stop is
// called.
func printProgressOnSignal(a *app) (stop func()) {
	asked := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(asked, progressSignal)
	again := time.NewTicker(reinstallInterval)
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-asked:
				printProgress(a)
			case <-again.C:
				// Without Ignore, Notify would assume that its handler is still installed.
				signal.Ignore(progressSignal)
				signal.Notify(asked, progressSignal)
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

// dieOf kills the process with the signal and its default handling, so that the parent sees what
// happened: a shell leaves a loop after Ctrl-C only if the command was killed by it. If the
// signal does not kill the process, dieOf returns the status that a shell shows for it. The first
// process of a container survives a signal.
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
		// Go's runtime dies of SIGPIPE only in a write to a broken standard output, not when the
		// signal is sent. The broken pipe may be another output. So make a broken pipe the
		// standard output.
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

// looksClosed reports whether a standard stream is /dev/null, opened for reading and writing.
// Go's runtime opens /dev/null that way in place of a closed descriptor. A shell opens /dev/null
// for either reading or writing, but some programs, for example with Python's subprocess.DEVNULL,
// open it for both, which looks the same.
func looksClosed(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	var open, null unix.Stat_t
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR &&
		unix.Fstat(int(f.Fd()), &open) == nil &&
		unix.Stat(os.DevNull, &null) == nil &&
		open.Mode&unix.S_IFMT == unix.S_IFCHR && open.Rdev == null.Rdev
}

// isReadable reports whether a file was opened for reading and writing.
func isReadable(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
