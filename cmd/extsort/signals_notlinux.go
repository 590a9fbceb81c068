//go:build unix && !linux

package main

import "syscall"

// progressSignal is the signal that requests a line of progress: SIGINFO on BSD and macOS, which
// Ctrl-T sends.
const progressSignal = syscall.Signal(29)

// systemHandles returns false: this system provides no way to bypass Go's handling of SIGQUIT,
// which prints all stacks.
func systemHandles(syscall.Signal) bool { return false }
