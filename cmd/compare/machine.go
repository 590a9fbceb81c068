package main

import (
	"fmt"
	"runtime"
	"strings"
)

// machine describes the machine on which the figures were measured.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"` // logical processors available to this process
	Memory     int64  `json:"memory,omitempty"`
	System     string `json:"system"` // including its version
	FileSystem string `json:"file_system,omitempty"`
}

// describeMachine describes the machine and the file system of a directory.
func describeMachine(dir string) machine {
	m := machine{
		CPU:    runtime.GOARCH,
		Cores:  runtime.NumCPU(),
		System: runtime.GOOS,
	}
	m.detect(dir)
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
