package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// progressSignal is the signal that requests a line of progress.
const progressSignal = syscall.SIGUSR1

// systemHandles restores the system's handling of a signal. Go's handling of SIGQUIT prints all
// stacks and exits with 2. It also disables the core dump, which would be as large as the memory of
// the sort. An all-zero action selects the default on every architecture.
func systemHandles(number syscall.Signal) bool {
	var action [8]uint64
	unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	_, _, failed := unix.RawSyscall6(
		unix.SYS_RT_SIGACTION,
		uintptr(number),
		uintptr(unsafe.Pointer(&action)),
		0,
		8,
		0,
		0,
	)
	return failed == 0
}
