//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

var errNotConfined = errors.New("--confined needs the cgroups of Linux")

// cgroup is unavailable on this system.
type cgroup struct{ version string }

func newCgroup(int64) (*cgroup, error) { return nil, errNotConfined }

// confine does nothing on this system.
func (*cgroup) confine(*exec.Cmd) {}

func (*cgroup) remove() error { return nil }

// diskCounters returns zero, because the counters are unavailable on this system.
func diskCounters(string) traffic { return traffic{} }

func dropPages(string) error { return errNotConfined }
