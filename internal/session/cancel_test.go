package session

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/extsort/extsort/format"
)

// TestCancelledWhileReaderBlocks cancels calls while a Read blocks forever. The Reader is not a
// file. The calls end within 100 ms. Load on the machine may delay a single attempt, but not
// repeated ones.
func TestCancelledWhileReaderBlocks(t *testing.T) {
	records := make([]byte, 32<<20) // more than fits into a chunk
	for name, begin := range map[string][]byte{
		"first read": nil, "read": records[:80], "after spill": records,
		"gzip": compressed(t, records[:80], format.Gzip)[:20],
	} {
		t.Run(name, func(t *testing.T) {
			took := time.Hour
			limit := 100 * time.Millisecond
			for try := 0; try < 20 && took > limit; try++ {
				took = cancelBlocked(t, begin)
				limit += 50 * time.Millisecond // the machine is busy
			}
			if took > limit {
				t.Errorf("it ended %v after it was cancelled", took)
			}
		})
	}
}

// cancelBlocked cancels a sort while its input blocks and returns how long it took to end.
func cancelBlocked(t *testing.T, begin []byte) time.Duration {
	blocks := &blockedReader{reached: make(chan struct{}), until: make(chan struct{})}
	defer close(blocks.until)
	ctx, cancel := context.WithCancel(t.Context())
	var start time.Time
	go func() {
		<-blocks.reached
		time.Sleep(20 * time.Millisecond) // so that most of the previous records have been sorted
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

// TestCancelledWhileWriting cancels calls that wait for a writer that never returns, or for an
// fsync, in each phase that writes. They end soon and return the cause.
func TestCancelledWhileWriting(t *testing.T) {
	u64, npy := format.Spec{Type: "u64"}, format.Spec{Format: "npy"}
	k := kindNamed("u64")
	recs := k.make(t, "uniform", 20_000, seeded(t))
	array := npyFile(t, "u64", recs, 8)
	inOrder := reference(t, k.layout(t), recs, Options{})
	for name, opt := range map[string]Options{
		"sort, write": {Record: u64},
		"merge":       {Record: u64, Strategy: MergeRuns},
		"partition":   {Record: u64, Strategy: Partition},
		"reread":      {Record: u64, Strategy: Reread},
		"copy":        {Record: u64},
		"compress":    {Record: u64, Compress: "gzip"},
		// Records that wait for their number.
		"commit": {Record: npy, Unique: true, Strategy: MergeRuns},
	} {
		t.Run("writer/"+name, func(t *testing.T) {
			data := recs
			switch name {
			case "copy":
				data = inOrder
			case "commit":
				data = array
			}
			if name != "sort, write" && name != "copy" {
				opt = small(opt)
			}
			opt.Inputs = []string{writeFile(t, data)}
			blocks := &blockedWriter{reached: make(chan struct{}), until: make(chan struct{}), after: 4000}
			defer close(blocks.until)
			opt.Stdout = blocks
			checkCancelled(t, opt, blocks.reached)
		})
	}
	for _, operation := range []string{"sync output", "sync directory"} {
		for _, split := range []int{0, 3} {
			if operation == "sync directory" && split > 0 {
				continue // renaming the files of a set is not interrupted
			}
			t.Run(operation, func(t *testing.T) {
				reached, until := make(chan struct{}), make(chan struct{})
				defer close(until)
				var once sync.Once
				opt := small(Options{Record: u64, Inputs: []string{writeFile(t, recs)}, SplitFiles: split})
				opt.Output = filepath.Join(t.TempDir(), "out")
				opt.faults.output = func(attempted string) error {
					if attempted == operation {
						once.Do(func() { close(reached) })
						<-until
					}
					return nil
				}
				checkCancelled(t, opt, reached)
			})
		}
	}
}

// checkCancelled cancels a blocked sort when reached is closed. The sort should end within 100 ms.
// The test allows a minute, because the machine may be busy, and the writer waits for ever.
func checkCancelled(t *testing.T, opt Options, reached <-chan struct{}) {
	t.Helper()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	opt.TempDirs = []string{t.TempDir()}
	ended := make(chan error, 1)
	go func() {
		_, err := Sort(ctx, opt)
		ended <- err
	}()
	select {
	case <-reached:
	case err := <-ended:
		t.Fatalf("it ended before the phase was reached: %v", err)
	}
	cancel(stop)
	select {
	case err := <-ended:
		if !errors.Is(err, stop) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on a minute after it was cancelled")
	}
	if left := leftIn(t, opt.TempDirs[0]); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// blockedWriter is a Writer that waits after some bytes.
type blockedWriter struct {
	reached, until chan struct{}
	after          int
}

func (w *blockedWriter) Write(p []byte) (int, error) {
	if w.after -= len(p); w.after > 0 {
		return len(p), nil
	}
	close(w.reached)
	<-w.until
	return 0, io.ErrClosedPipe
}
