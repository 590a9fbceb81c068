package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A hierarchy is the tree of cgroups that has the memory controller.
type hierarchy struct {
	version   string
	mount     string
	ownCgroup string // the cgroup of this process, relative to mount
}

// memoryHierarchy finds the tree from the content of /proc/self/cgroup: lines
// "number:controllers:path". For v2, there is one line "0::path". If both versions are mounted,
// the controller belongs to v1 if a line of v1 names it.
func memoryHierarchy(text []byte) (hierarchy, error) {
	found := hierarchy{}
	for line := range bytes.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(fields) < 3 {
			continue
		}
		if slices.Contains(strings.Split(fields[1], ","), "memory") {
			return hierarchy{"v1", "/sys/fs/cgroup/memory", fields[2]}, nil
		}
		if fields[0] == "0" {
			found = hierarchy{"v2", "/sys/fs/cgroup", fields[2]}
		}
	}
	if found.version == "" {
		return found, errors.New("/proc/self/cgroup names no memory controller")
	}
	return found, nil
}

// parents returns the places where a cgroup may be created: below the one of this process, or
// further up. In v2, a cgroup that contains processes cannot pass controllers on to its children.
func (h hierarchy) parents() []string {
	var all []string
	for own := path.Clean("/" + h.ownCgroup); ; own = path.Dir(own) {
		all = append(all, filepath.Join(h.mount, own))
		if own == "/" {
			return all
		}
	}
}

// A cgroup limits the memory of processes together with the page cache of the files they read and
// write.
type cgroup struct {
	version string // v1 or v2
	dir     string
}

// newCgroup creates a cgroup with a memory limit.
func newCgroup(limit int64) (*cgroup, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	h, err := memoryHierarchy(text)
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, parent := range h.parents() {
		g, err := h.newBelow(parent, limit)
		if err == nil {
			return g, nil
		}
		faults = append(faults, err.Error())
	}
	return nil, fmt.Errorf("cannot create a cgroup that limits memory (%s: %s): "+
		"run this as root, or with systemd-run --user --scope -p Delegate=yes", h.version, strings.Join(faults, "; "))
}

// newBelow creates a cgroup below another one and checks that a process can enter it.
func (h hierarchy) newBelow(parent string, limit int64) (*cgroup, error) {
	limitFile := "memory.limit_in_bytes"
	swapFile := "memory.swappiness"
	if h.version == "v2" {
		limitFile = "memory.max"
		swapFile = "memory.swap.max"
		if err := enableForChildren(parent); err != nil {
			return nil, err
		}
	}
	g := &cgroup{
		version: h.version,
		dir: filepath.Join(
			parent, "extsort-compare-"+strconv.Itoa(os.Getpid()),
		),
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	err := errors.Join(
		g.set(limitFile, strconv.FormatInt(limit, 10)),
		g.setIfThere(swapFile, "0"),
		g.probe(),
	)
	if err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// enableForChildren enables the memory controller for the children of a v2 cgroup.
func enableForChildren(parent string) error {
	name := filepath.Join(parent, "cgroup.subtree_control")
	text, err := os.ReadFile(name)
	if err != nil || slices.Contains(strings.Fields(string(text)), "memory") {
		return err
	}
	return writeTo(name, "+memory")
}

func (g *cgroup) set(file, value string) error {
	return writeTo(filepath.Join(g.dir, file), value)
}

// setIfThere writes to a file that only some kernels have.
func (g *cgroup) setIfThere(file, value string) error {
	if err := g.set(file, value); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeTo writes to an existing file of the kernel.
func writeTo(name, value string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func (g *cgroup) probe() error {
	cmd := exec.Command("true")
	g.confine(cmd)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("enter %s: %w: %s", g.dir, err, bytes.TrimSpace(said))
	}
	return nil
}

// enterCgroup makes a shell enter a cgroup and become another program, so that all memory of the
// program counts there from its first page on.
const enterCgroup = `echo $$ > "$0"/cgroup.procs && exec "$@"`

// confine makes a command start within the cgroup. On a nil cgroup, it does nothing.
func (g *cgroup) confine(cmd *exec.Cmd) {
	if g == nil {
		return
	}
	cmd.Args = append(
		[]string{"sh", "-c", enterCgroup, g.dir, cmd.Path}, cmd.Args[1:]...,
	)
	cmd.Path = "/bin/sh"
}

// remove removes the cgroup. The kernel may need a moment after the last process has ended.
func (g *cgroup) remove() error {
	err := os.Remove(g.dir)
	for range 50 {
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
		err = os.Remove(g.dir)
	}
	return err
}
