package spill

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

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
