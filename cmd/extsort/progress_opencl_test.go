//go:build opencl && cgo && linux

package main

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/device/opencl"
)

// TestProgressWhenAskedOfOpenCL sends the signal to a sort on an OpenCL device whose driver has
// compiled kernels. PoCL compiles with LLVM, which installs its own handler for the signal. The
// cache of kernels is empty, so PoCL does compile.
func TestProgressWhenAskedOfOpenCL(t *testing.T) {
	devices, err := opencl.Devices()
	if err != nil || len(devices) == 0 {
		t.Skip("no OpenCL device: ", err)
	}
	cmd := exec.Command("extsort", "-t", "u64", "-d", "1", "-S", "64M", "-T", t.TempDir(), "--progress", "never",
		"-o", filepath.Join(t.TempDir(), "out"))
	cmd.Env = append(cmd.Environ(), "POCL_CACHE_DIR="+t.TempDir(), "POCL_MEMORY_LIMIT=4")
	feed, said := startPiped(t, cmd)
	defer cmd.Wait()
	defer feed.Close()
	// This is more than a chunk holds, so one chunk has been sorted when Write returns.
	feed.Write(make([]byte, 128<<20))
	go func() {
		for t.Context().Err() == nil { // LLVM ignores signals until the handler is reinstalled
			_ = cmd.Process.Signal(progressSignal)
			time.Sleep(reinstallInterval / 10)
		}
	}()
	late := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(said)
	for lines.Scan() && strings.Contains(lines.Text(), "warning") {
	}
	if !strings.HasPrefix(lines.Text(), "extsort: ") {
		t.Errorf("it says %q", lines.Text())
	}
}
