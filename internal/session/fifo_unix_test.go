//go:build unix

package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestCancelledWhileWaiting cancels calls that wait for a writer to open a pipe. They end, and
// only the old output is left.
func TestCancelledWhileWaiting(t *testing.T) {
	for name, run := range map[string]func(context.Context, Options) error{
		"sort":  func(ctx context.Context, opt Options) error { _, err := Sort(ctx, opt); return err },
		"merge": func(ctx context.Context, opt Options) error { _, err := mergeAs(ctx, opt); return err },
		"check": func(ctx context.Context, opt Options) error { _, err := Check(ctx, checkOptions(opt)); return err },
	} {
		for wait, bytes := range map[string]int{"opening": -1, "first read": 0, "read": 8, "after spill": 32 << 20} {
			if bytes > 8 && name != "sort" { // data out of order would end the other calls
				continue
			}
			t.Run(name+", "+wait, func(t *testing.T) {
				fifo := filepath.Join(t.TempDir(), "fifo")
				if err := unix.Mkfifo(fifo, 0o600); err != nil {
					t.Skip(err)
				}
				opt := Options{Record: format.Spec{Type: "u64"}, Inputs: []string{fifo}, MemoryBytes: MinMemory,
					Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}}
				testfiles.Write(t, opt.Output, []byte("old"))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- run(ctx, opt) }()
				if bytes < 0 {
					time.Sleep(50 * time.Millisecond) // usually enough for the call to wait
				} else {
					writeSome(t, fifo, bytes)
				}
				cancel()
				select {
				case err := <-ended:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("it ended with %v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("it goes on waiting")
				}
				if old, err := os.ReadFile(opt.Output); string(old) != "old" {
					t.Errorf("the output is %q, %v", old, err)
				}
				for folder, want := range map[string]int{filepath.Dir(opt.Output): 1, opt.TempDirs[0]: 0} {
					if left, err := os.ReadDir(folder); len(left) != want {
						t.Errorf("in %s: %v, %v", folder, left, err)
					}
				}
			})
		}
	}
}

// TestPlanOfUnopenedFIFO plans a sort of a FIFO without a writer. The plan does not wait for a
// writer, keeps the output and stores nothing.
func TestPlanOfUnopenedFIFO(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	opt := Options{
		Record: format.Spec{Type: "u64"}, Inputs: []string{fifo}, MemoryBytes: MinMemory,
		Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()},
	}
	testfiles.Write(t, opt.Output, []byte("old"))

	ended := make(chan error, 1)
	go func() {
		_, err := Plan(t.Context(), opt)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the plan ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the plan waits for somebody to open the FIFO")
	}

	if old, err := os.ReadFile(opt.Output); string(old) != "old" {
		t.Errorf("the output is %q, %v", old, err)
	}
	for directory, want := range map[string]int{filepath.Dir(opt.Output): 1, opt.TempDirs[0]: 0} {
		if left, err := os.ReadDir(directory); len(left) != want {
			t.Errorf("in %s: %v, %v", directory, left, err)
		}
	}
}

// writeSome writes the given number of bytes to a FIFO, which stays open until the test ends.
func writeSome(t *testing.T, fifo string, bytes int) {
	t.Helper()
	w := testfiles.Open(t, fifo, os.O_WRONLY)
	data := make([]byte, bytes)
	rand.NewChaCha8([32]byte{}).Read(data)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
}
