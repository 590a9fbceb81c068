//go:build unix

package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestProgressWhenAsked asks a sort that waits for its input how far it is, and then lets it end. It is a process of
// its own: a driver of OpenCL that compiles by LLVM takes the signal for itself.
func TestProgressWhenAsked(t *testing.T) {
	cmd := exec.Command("extsort", "-t", "u64", "-d", "cpu", "-o", filepath.Join(t.TempDir(), "out"))
	feed, said := startPiped(t, cmd)
	feed.Write(make([]byte, 1<<20)) // more than a pipe holds: when it returns most is read, and the handler stands
	if err := cmd.Process.Signal(asking); err != nil {
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

// startPiped starts a command whose input the test writes and whose messages it reads.
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
