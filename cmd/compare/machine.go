package main

import (
	"fmt"
	"runtime"
	"strings"
)

// machine is where the figures come from.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"` // logical processors that this process may use
	Memory     int64  `json:"memory,omitempty"`
	System     string `json:"system"` // with its version
	FileSystem string `json:"file_system,omitempty"`
}

// describeMachine looks at the machine and at the file system of a folder.
func describeMachine(dir string) machine {
	m := machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), System: runtime.GOOS}
	m.look(dir)
	return m
}

func (m machine) String() string {
	parts := []string{fmt.Sprintf("%s, %d cores", m.CPU, m.Cores)}
	if m.Memory > 0 {
		parts = append(parts, binarySize(m.Memory)+" of memory")
	}
	parts = append(parts, m.System)
	if m.FileSystem != "" {
		parts = append(parts, "data on "+m.FileSystem)
	}
	return strings.Join(parts, ", ")
}
