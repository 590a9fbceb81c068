package engine

import (
	"bytes"
	"os"
	"strconv"
)

// anonymousMemory is the resident anonymous memory of this process in bytes: what it has allocated and touched,
// without the pages of files that it maps. 0: not known.
func anonymousMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := bytes.Cut(status, []byte("RssAnon:"))
	if !ok {
		return 0
	}
	fields := bytes.Fields(rest[:min(len(rest), 40)])
	if len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
