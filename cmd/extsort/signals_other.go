//go:build !unix

package main

import (
	"os"
	"syscall"
)

// dieOf returns the exit status that represents a signal, on a system where a process cannot send
// itself a signal.
func dieOf(s os.Signal) int {
	number, ok := s.(syscall.Signal)
	if ok {
		return 128 + int(number)
	}
	return exitError
}

// looksClosed returns false: on this system, a closed standard stream fails when it is used.
func looksClosed(any) bool { return false }

// isReadable returns false, because the mode is unknown: an empty output file is assumed to have
// been emptied by the shell.
func isReadable(*os.File) bool { return false }

// printProgressOnSignal does nothing, because no signal requests progress on this system.
func printProgressOnSignal(*app) (stop func()) { return func() {} }
