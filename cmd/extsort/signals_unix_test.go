//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// TestProgressWhenAsked asks a sort that waits for its input how far it is, and then lets it end.
func TestProgressWhenAsked(t *testing.T) {
	input, feed := io.Pipe()
	said, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	ended := make(chan int)
	go func() {
		args := []string{"-t", "u64", "-o", filepath.Join(t.TempDir(), "out")}
		ended <- run(t.Context(), args, input, io.Discard, stderr)
	}()
	feed.Write(make([]byte, 8)) // which returns when it is read: the handler stands by then
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(os.Getpid(), asking); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := said.Read(line)
	if want := `\Aextsort: .*(read|starting).*\n\z`; err != nil || !regexp.MustCompile(want).Match(line[:n]) {
		t.Errorf("it says %q, %v", line[:n], err)
	}
	feed.Close()
	if status := <-ended; status != 0 {
		t.Errorf("exit status %d", status)
	}
}
