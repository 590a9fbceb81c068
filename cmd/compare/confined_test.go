package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// confinedSettings parses the flags of a confined table.
func confinedSettings(t *testing.T, flags string) settings {
	t.Helper()
	s, err := parseSettings(strings.Fields("--confined "+flags), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConfinedSettings(t *testing.T) {
	s := confinedSettings(t, "")
	if s.bytes != 8<<30 || s.table.limit != 1<<30 || s.memories[0] != 512<<20 || s.table.logFile != "confined.jsonl" {
		t.Errorf("size %d, limit %d, memories %v, out %s", s.bytes, s.table.limit, s.memories, s.table.logFile)
	}
	s = confinedSettings(t, "--limit 64M --size 1G --out x --peers bsort -d gpu --device-memory 4G")
	if s.bytes != 1<<30 || s.table.limit != 64<<20 || s.table.logFile != "x" || !slices.Equal(
		s.peers,
		[]string{"bsort"},
	) {
		t.Errorf("size %d, limit %d, out %s, peers %v", s.bytes, s.table.limit, s.table.logFile, s.peers)
	}
	if want := []string{"-d", "gpu", "--device-memory", "4G"}; !slices.Equal(s.devices, want) {
		t.Errorf("devices %v, want %v", s.devices, want)
	}
	_, err := parseSettings(strings.Fields("--confined --table --limit 16M --peers numpy"), io.Discard)
	for _, want := range []string{"cannot be combined", "--limit: at least 32 MiB", "--peers numpy"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in: %v", want, err)
		}
	}
}

// TestConfinedLogIsOfOneLimit adds runs to a file with another limit, or to a file of the table
// of workloads.
func TestConfinedLogIsOfOneLimit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "confined.jsonl")
	s := start{Size: 1 << 20, Limit: 1 << 30, Cgroup: "v1"}
	l, err := openLog(file, s)
	if err != nil {
		t.Fatal(err)
	}
	l.file.Close()
	for _, other := range []start{
		{Size: s.Size}, {Size: s.Size, Limit: 1 << 20, Cgroup: "v1"}, {Size: s.Size, Limit: s.Limit, Cgroup: "v2"},
	} {
		if _, err := openLog(
			file,
			other,
		); err == nil || !strings.Contains(err.Error(), "in 1.0 GiB of memory by cgroup v1") {
			t.Errorf("runs of %+v were added to those of %+v: %v", other, s, err)
		}
	}
}

// TestConfinedEndToEnd builds the command and makes a row. Neither data nor a cgroup may remain.
func TestConfinedEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the command of this module, cp and sync")
	}
	work := onDisk(t)
	binary := filepath.Join(t.TempDir(), "extsort")
	if err := build(context.Background(), binary); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "confined.jsonl")
	args := append(strings.Fields("--confined --limit 64M --size 96M --runs 1 --forced 0 --rows u64 --peers none"),
		"--work", work, "--out", file, "--extsort", binary)
	var log, printed bytes.Buffer
	if err := compare(context.Background(), args, &printed, &log); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	l, err := readLog(file)
	if err != nil || len(l.runs) != 3 || l.starts[0].Limit != 64<<20 || l.starts[0].Cgroup == "" {
		t.Fatalf("the file holds %+v, %v", l, err)
	}
	for _, e := range l.runs {
		if e.Failed != "" || e.Seconds <= 0 || e.User+e.System <= 0 || e.Read < 90<<20 || e.Written < 90<<20 {
			t.Errorf("a run says %+v", e)
		}
	}
	if !strings.Contains(printed.String(), "64 MiB (cgroup v") {
		t.Errorf("the report is\n%s", &printed)
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// onDisk returns a directory on a disk, or skips the test if this process cannot create a cgroup.
func onDisk(t *testing.T) string {
	t.Helper()
	work, err := os.MkdirTemp(defaultDir(), "extsort-compare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	if fs := describeMachine(work).FileSystem; fs != "ext4" && fs != "xfs" {
		t.Skipf("needs a folder on a disk; TMPDIR is on %q", fs)
	}
	g, err := newCgroup(64 << 20)
	if err != nil {
		t.Skipf("needs a memory cgroup: %v", err)
	}
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
	return work
}
