package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// anonymousMemory is what a process has allocated and touched, in bytes, without the pages of files that it maps
// (RssAnon). 0: not known, or it has ended.
func anonymousMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	return kibibytes(status, "RssAnon:")
}

// diskTraffic is what a process that has ended read and wrote of blocks, which the system counts by 512 bytes.
func diskTraffic(state *os.ProcessState) traffic {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return traffic{}
	}
	return traffic{read: int64(usage.Inblock) * 512, written: int64(usage.Oublock) * 512}
}

// freeMemory is how much files in a folder of a tmpfs may take: both it and the machine must have room.
func freeMemory(dir string) int64 {
	var fs unix.Statfs_t
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil || unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return min(int64(fs.Bavail)*int64(fs.Bsize), kibibytes(text, "MemAvailable:"))
}

// kibibytes is the bytes that a line such as "RssAnon:   1234 kB" tells; 0 if there is no such line.
func kibibytes(text []byte, label string) int64 {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(label))
		if !ok {
			continue
		}
		if words := bytes.Fields(rest); len(words) > 0 {
			n, _ := strconv.ParseInt(string(words[0]), 10, 64)
			return n << 10
		}
	}
	return 0
}
