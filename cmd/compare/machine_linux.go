package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func (m *machine) detect(dir string) {
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		model := labelled(text, "model name")
		if model != "" {
			m.CPU = model
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.Memory = kibibytes(text, "MemTotal:")
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.System = unix.ByteSliceToString(name.Sysname[:]) + " " + unix.ByteSliceToString(name.Release[:])
	}
	if text, err := os.ReadFile("/proc/self/mounts"); err == nil {
		m.FileSystem = fileSystem(text, dir)
	}
}

// labelled returns the value of the first line "label : value".
func labelled(text []byte, label string) string {
	for line := range bytes.Lines(text) {
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok &&
			string(bytes.TrimSpace(name)) == label {
			return string(bytes.TrimSpace(value))
		}
	}
	return ""
}

// fileSystem returns the type of the mount that contains the directory, from lines "device point
// type options …". Of several mounts on the same point, the last one is visible.
func fileSystem(mounts []byte, dir string) string {
	if full, err := filepath.EvalSymlinks(dir); err == nil {
		dir = full
	}
	longest := -1
	found := ""
	for line := range bytes.Lines(mounts) {
		words := strings.Fields(string(line))
		if len(words) < 3 {
			continue
		}
		point := strings.TrimSuffix(words[1], "/")
		if (dir == point || strings.HasPrefix(dir, point+"/")) &&
			len(point) >= longest {
			longest = len(point)
			found = words[2]
		}
	}
	return found
}
