//go:build unix && !linux

package main

import "syscall"

// asking is the signal that asks for a line of progress: SIGINFO on BSD and macOS, which Ctrl-T sends.
const asking = syscall.Signal(29)

// systemHandles reports false: there is no way here around Go's own handling of SIGQUIT, which prints all stacks.
func systemHandles(syscall.Signal) bool { return false }
