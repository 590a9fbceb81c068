package dist

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// memoryChild is set to the data directory in the process that does the tasks of TestMemoryLimit.
const memoryChild = "EXTSORT_TEST_DIST_MEMORY"

const (
	limitOfTasks = 16 << 20
	bytesOfTasks = 32 * limitOfTasks
)

// TestMemoryLimit does all tasks of a plan in one process, with data of many times its memory
// limit.
func TestMemoryLimit(t *testing.T) {
	if testing.Short() || testfiles.Race || runtime.GOOS != "linux" {
		t.Skip("takes long, not with the race detector, and only where the system tells the memory in use")
	}
	folder := t.TempDir()
	writeNumbers(t, filepath.Join(folder, "in"))

	child := exec.Command(os.Args[0], "-test.run", "^TestTasksInLittleMemory$", "-test.v")
	child.Env = append(os.Environ(), memoryChild+"="+folder)
	output, err := child.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
}

// writeNumbers writes a file of random u64.
func writeNumbers(t *testing.T, name string) {
	t.Helper()
	const block = 8 << 20
	generator := formattest.Generator(t, format.Bare(format.Type{Size: 8}), "uniform", 7, bytesOfTasks/8)
	f := testfiles.Create(t, name)

	data := make([]byte, block)
	for at := int64(0); at < bytesOfTasks; at += block {
		generator.Fill(data, at/8)
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTasksInLittleMemory is the child process of TestMemoryLimit.
func TestTasksInLittleMemory(t *testing.T) {
	folder := os.Getenv(memoryChild)
	if folder == "" {
		t.Skip("run by TestMemoryLimit")
	}
	debug.SetGCPercent(50) // like the command
	req := Request{
		Inputs: []string{filepath.Join(folder, "in")},
		Record: format.Spec{Type: "u64"},
		Runs:   3,
		Parts:  4,
		Output: filepath.Join(folder, "out"),
	}
	plan := filepath.Join(folder, "plan")
	if _, err := CreatePlan(t.Context(), plan, req); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	opt := session.Options{MemoryBytes: limitOfTasks, Workers: 2, TempDirs: []string{t.TempDir()}}
	c := &cluster{t: t, folder: plan, req: req, Worker: &Worker{Plan: p, Options: opt, Tell: func(string) {}}}

	endPeak := engine.WatchPeak()
	c.all(3) // verifies the order, the number and the checksum of the records
	peak := endPeak()
	t.Logf("%d MiB at the peak", peak>>20)
	if peak == 0 || peak > limitOfTasks {
		t.Errorf("%d MiB of memory at the peak, the limit is %d MiB", peak>>20, limitOfTasks>>20)
	}
}
