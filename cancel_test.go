package extsort

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/extsort/extsort/format"
)

// TestCancelledWhileReaderBlocks cancels what waits for a Reader that is no file and never comes back: it ends within
// 100 ms all the same. What else the machine does may delay that, but not again and again.
func TestCancelledWhileReaderBlocks(t *testing.T) {
	records := make([]byte, 32<<20) // more than fits a chunk
	for name, begin := range map[string][]byte{
		"first read": nil, "read": records[:80], "after spill": records,
		"gzip": compressed(t, records[:80], format.Gzip)[:20],
	} {
		t.Run(name, func(t *testing.T) {
			took := time.Hour
			for try := 0; try < 50 && took > 100*time.Millisecond; try++ {
				took = cancelBlocked(t, begin)
			}
			if took > 100*time.Millisecond {
				t.Errorf("it ended %v after it was cancelled", took)
			}
		})
	}
}

// cancelBlocked cancels a sort when its input blocks, and tells how long it took to end.
func cancelBlocked(t *testing.T, begin []byte) time.Duration {
	blocks := &blockedReader{reached: make(chan struct{}), until: make(chan struct{})}
	defer close(blocks.until)
	ctx, cancel := context.WithCancel(t.Context())
	var start time.Time
	go func() {
		<-blocks.reached
		time.Sleep(20 * time.Millisecond) // for what was read before to be sorted, mostly
		start = time.Now()
		cancel()
	}()
	_, err := Sort(ctx, Options{Record: format.Spec{Type: "u64"}, Stdin: io.MultiReader(bytes.NewReader(begin), blocks),
		MemoryBytes: MinMemory, Output: filepath.Join(t.TempDir(), "out"), TempDirs: []string{t.TempDir()}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	return time.Since(start)
}

// blockedReader is a Reader that waits.
type blockedReader struct{ reached, until chan struct{} }

func (r *blockedReader) Read([]byte) (int, error) {
	close(r.reached)
	<-r.until
	return 0, io.EOF
}
