package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// anonymousMemory returns the resident anonymous memory of a process in bytes, without mapped files
// (RssAnon). It returns 0 if the process has ended.
func anonymousMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	return kibibytes(status, "RssAnon:")
}

// diskTraffic returns the blocks that a finished process read and wrote, in bytes. The system
// counts blocks of 512 bytes.
func diskTraffic(state *os.ProcessState) traffic {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return traffic{}
	}
	return traffic{
		read:    int64(usage.Inblock) * 512,
		written: int64(usage.Oublock) * 512,
	}
}

// freeMemory returns the free space for files in a directory in tmpfs. It is limited by the tmpfs
// and by the machine.
func freeMemory(dir string) int64 {
	var fs unix.Statfs_t
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil || unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return min(
		int64(fs.Bavail)*int64(fs.Bsize), kibibytes(text, "MemAvailable:"),
	)
}

// kibibytes returns the bytes of a line such as "RssAnon:   1234 kB", or 0 if there is no such
// line.
func kibibytes(text []byte, label string) int64 {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(label))
		if !ok {
			continue
		}
		words := bytes.Fields(rest)
		if len(words) > 0 {
			n, _ := strconv.ParseInt(string(words[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}
