//go:build !unix

package main

import (
	"os"
	"syscall"
)

// dieOf returns the status that stands for the end by a signal, on a system where a process cannot send itself
// one.
func dieOf(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return exitError
}

// looksClosed reports false: a closed standard stream fails here when it is used.
func looksClosed(any) bool { return false }

// isReadable is not known: a file that is empty is taken for one that was emptied.
func isReadable(*os.File) bool { return false }

// tellWhenAsked does nothing: no signal asks here.
func tellWhenAsked(*app) (stop func()) { return func() {} }
