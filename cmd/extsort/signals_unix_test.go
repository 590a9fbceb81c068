//go:build unix

package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestProgressWhenAsked requests progress of a sort that waits for its input, and then lets it
// end. The sort is a separate process, because an OpenCL driver that compiles with LLVM takes
// over the signal.
func TestProgressWhenAsked(t *testing.T) {
	cmd := exec.Command("extsort", "-t", "u64", "-d", "cpu", "-o", filepath.Join(t.TempDir(), "out"))
	feed, said := startPiped(t, cmd)
	// This is more than a pipe holds. So when Write returns, the process is reading and its handler
	// is installed.
	feed.Write(make([]byte, 1<<20))
	if err := cmd.Process.Signal(progressSignal); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := said.Read(line)
	if want := `\Aextsort: .*(read|starting).*\n\z`; err != nil || !regexp.MustCompile(want).Match(line[:n]) {
		t.Errorf("it says %q, %v", line[:n], err)
	}
	feed.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// startPiped starts a command. The test writes its input and reads its messages.
func startPiped(t *testing.T, cmd *exec.Cmd) (feed io.WriteCloser, said io.Reader) {
	t.Helper()
	feed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err = cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return feed, said
}
