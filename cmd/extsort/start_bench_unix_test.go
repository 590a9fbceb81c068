//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/testfiles"
)

// BenchmarkStart measures short runs of the command. Besides the elapsed time, it reports CPU time and
// page faults, which depend less on other processes.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "extsort")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	testfiles.Write(b, filepath.Join(dir, "in"), make([]byte, 1024))

	for _, c := range []struct {
		name string
		args []string
	}{
		{"version", []string{"--version"}},
		{"sort", []string{"-t", "u64", "-o", "out", "in"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var used time.Duration
			faults := int64(0)
			for b.Loop() {
				cmd := exec.Command(program, c.args...)
				cmd.Dir = dir
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
				if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
					faults += int64(usage.Minflt)
				}
			}
			b.ReportMetric(1000*used.Seconds()/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(faults)/float64(b.N), "faults/op")
		})
	}
}
