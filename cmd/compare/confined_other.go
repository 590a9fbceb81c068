//go:build !linux

package main

import (
	"errors"
	"os/exec"
)

var errNotConfined = errors.New("--confined needs the cgroups of Linux")

// cgroup does not exist here.
type cgroup struct{ version string }

func newCgroup(int64) (*cgroup, error) { return nil, errNotConfined }

// confine changes nothing here.
func (*cgroup) confine(*exec.Cmd) {}

func (*cgroup) remove() error { return nil }

// diskCounters are not known here.
func diskCounters(string) traffic { return traffic{} }

func dropPages(string) error { return errNotConfined }
