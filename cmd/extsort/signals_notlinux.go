//go:build unix && !linux

package main

import "syscall"

// systemHandles reports false: there is no way here around Go's own handling of SIGQUIT, which prints all stacks.
func systemHandles(syscall.Signal) bool { return false }
