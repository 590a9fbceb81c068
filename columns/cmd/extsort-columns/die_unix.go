//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// dieOf ends the process by the signal, so that the parent sees the cause. It returns the status
// that a shell shows for the signal if the process survives.
func dieOf(s os.Signal) int {
	number, ok := s.(syscall.Signal)
	if !ok {
		return exitError
	}
	signal.Reset(number)
	if number != syscall.SIGPIPE { // Go's runtime ignores SIGPIPE that another process sends
		if err := syscall.Kill(os.Getpid(), number); err == nil {
			time.Sleep(time.Second) // delivery is asynchronous
		}
	}
	return 128 + int(number)
}
