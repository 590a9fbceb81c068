package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
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
