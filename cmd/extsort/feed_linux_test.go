package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// awaitWork waits until a program has read everything from the pipe that is its input. If fed is 0,
// it waits until the program has opened a file below the working directory, because the signal
// handlers are installed by then. It gives up after a minute.
func awaitWork(pid int, pipe *os.File, fed int) {
	for range 60_000 {
		if fed > 0 && isEmpty(pipe) || fed == 0 && hasOpened(pid) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func isEmpty(pipe *os.File) bool {
	raw, err := pipe.SyscallConn()
	exitOn(err)
	left := 0
	exitOn(raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }))
	exitOn(err)
	return left == 0
}

func hasOpened(pid int) bool {
	here, err := os.Getwd()
	exitOn(err)
	descriptors, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd/*"))
	for _, name := range descriptors {
		if path, _ := os.Readlink(name); strings.HasPrefix(path, here) {
			return true
		}
	}
	return false
}
