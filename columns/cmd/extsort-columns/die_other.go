//go:build !unix

package main

import (
	"os"
	"syscall"
)

// dieOf returns the exit status that represents a signal.
func dieOf(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return 128 + int(number)
	}
	return exitError
}
