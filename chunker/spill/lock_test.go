package spill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestLockEnds checks that an attempt to lock ends if the name of the file cannot be examined, always
// denotes another file, or if the context is cancelled.
func TestLockEnds(t *testing.T) {
	defer func() { statLock = os.Lstat }()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	tries := 0
	for want, stat := range map[error]func(name string) (fs.FileInfo, error){
		syscall.EACCES: func(name string) (fs.FileInfo, error) { return nil, syscall.EACCES },
		errReplaced:    func(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Dir(name)) },
		stopped: func(name string) (fs.FileInfo, error) {
			tries++
			cancel(stopped)
			return nil, fs.ErrNotExist
		},
	} {
		statLock = stat
		use := t.Context()
		if errors.Is(want, stopped) {
			use = ctx
		}
		if _, err := OpenCheckpoint(use, t.TempDir(), false); !errors.Is(err, want) {
			t.Errorf("the error is %v, due is %v", err, want)
		}
	}
	if tries != 1 {
		t.Errorf("after the cancellation it was tried %d times", tries)
	}
}

// TestWaitForCheckpointEnds opens a checkpoint that another process uses. The wait must end with
// its context, and with its own error.
func TestWaitForCheckpointEnds(t *testing.T) {
	synctest.Test(t, testWaitForCheckpointEnds)
}

func testWaitForCheckpointEnds(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kept")
	held := openCheckpoint(t, folder, false)
	defer held.Close()

	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	const after = lockTimeout / 2
	time.AfterFunc(after, func() { cancel(stopped) })
	start := time.Now()
	_, err := OpenCheckpoint(ctx, folder, true)
	if took := time.Since(start); !errors.Is(err, stopped) || took != after {
		t.Errorf("after %v the error is %v", took, err)
	}
}
