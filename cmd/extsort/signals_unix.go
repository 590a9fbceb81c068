//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tellWhenAsked tells of the progress whenever a signal asks, until stop is called.
func tellWhenAsked(a *app) (stop func()) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, asking)
	go func() {
		for range asked {
			tellProgress(a)
		}
	}()
	return func() { signal.Stop(asked); close(asked) }
}

// dieOf ends the process by the signal, with its default handling, so that the parent sees what happened: a
// shell stops its loop after Ctrl-C only when the command died of it. Should the signal not kill, the status
// that a shell shows for it is returned.
func dieOf(s os.Signal) int {
	number, ok := s.(syscall.Signal)
	if !ok {
		return exitError
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
