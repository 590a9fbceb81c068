package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

func TestMemoryHierarchy(t *testing.T) {
	const mount1, mount2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
	for name, c := range map[string]struct {
		text string
		want hierarchy
	}{
		"v1":       {"5:devices:/\n4:cpu,memory:/a/b\n1:cpu:/\n", hierarchy{"v1", mount1, "/a/b"}},
		"v2":       {"0::/user.slice/a.scope\n", hierarchy{"v2", mount2, "/user.slice/a.scope"}},
		"hybrid":   {"9:name=systemd:/x\n4:memory:/m\n0::/u\n", hierarchy{"v1", mount1, "/m"}},
		"v2 of v1": {"9:name=memory:/x\n0::/with:colon\n", hierarchy{"v2", mount2, "/with:colon"}},
	} {
		if got, err := memoryHierarchy([]byte(c.text)); got != c.want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	for _, text := range []string{"", "bad\n", "1:cpu:/\n"} {
		if got, err := memoryHierarchy([]byte(text)); err == nil {
			t.Errorf("%q has %+v", text, got)
		}
	}
}

func TestCgroupParents(t *testing.T) {
	got := hierarchy{"v2", "/m", "/a/b.scope"}.parents()
	if want := []string{"/m/a/b.scope", "/m/a", "/m"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (hierarchy{"v1", "/m", "/"}).parents(); !slices.Equal(got, []string{"/m"}) {
		t.Errorf("of the root: %v", got)
	}
}

// TestNoCgroup checks the error, which contains advice, if there are no cgroups.
func TestNoCgroup(t *testing.T) {
	h := hierarchy{version: "v2", mount: filepath.Join(t.TempDir(), "none"), ownCgroup: "/"}
	if _, err := h.newBelow(h.mount, 1<<30); err == nil {
		t.Error("a cgroup was made in a folder that is not there")
	}
}

// TestCgroupHoldsProcesses runs a program that prints its cgroup.
func TestCgroupHoldsProcesses(t *testing.T) {
	g, err := newCgroup(64 << 20)
	if err != nil {
		t.Skipf("needs a memory cgroup: %v", err)
	}
	cmd := exec.Command("cat", "/proc/self/cgroup")
	g.confine(cmd)
	text, err := cmd.Output()
	if err != nil || !strings.Contains(string(text), filepath.Base(g.dir)) {
		t.Errorf("a program ran in %s, %v", text, err)
	}
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(g.dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", g.dir, err)
	}
}

func TestDiskCounters(t *testing.T) {
	text := "  6451 75 1048576 2345 10 20 300 4 0 1960 2349 0 0 0 0 0 0\n"
	if got, want := parseDiskCounters(text), (traffic{1048576 * 512, 300 * 512}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := parseDiskCounters("1 2 3\n"); got != (traffic{}) {
		t.Errorf("a short file tells %+v", got)
	}
}

func TestDropPages(t *testing.T) {
	name := filepath.Join(onDisk(t), "file")
	testfiles.Write(t, name, make([]byte, 4<<20))
	if err := syncFile(name); err != nil {
		t.Fatal(err)
	}
	if err := dropPages(name); err != nil {
		t.Error(err)
	}
	if err := dropPages(name + ".none"); err == nil {
		t.Error("a file that is not there was dropped")
	}
}
