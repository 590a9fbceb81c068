package extsort_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/internal/testfiles"
)

// soon is the maximum time between the cancellation of a call and its return.
const soon = 100 * time.Millisecond

var errEnough = errors.New("enough")

// checkEndsSoon calls call, cancels its context when reached is closed, and checks that it ends
// soon with the cause. A busy machine may delay a single attempt, so checkEndsSoon tries several
// times.
func checkEndsSoon(t *testing.T, call func(ctx context.Context, reached func()) error) {
	t.Helper()
	var took time.Duration
	limit := soon
	for range 30 {
		ctx, cancel := context.WithCancelCause(t.Context())
		var once sync.Once
		var start time.Time
		err := call(ctx, func() {
			once.Do(func() {
				start = time.Now()
				cancel(errEnough)
			})
		})
		took = time.Since(start)
		if start.IsZero() {
			t.Fatalf("the call ended before it was cancelled: %v", err)
		}
		if !errors.Is(err, errEnough) {
			t.Fatalf("a cancelled call ends with %v", err)
		}
		if took <= limit {
			return
		}
		limit += soon / 5 // the machine is busy
	}
	t.Errorf("the call ended %v after it was cancelled", took)
}

// randomBytes returns n random bytes.
func randomBytes(n int) []byte {
	data := make([]byte, n)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(data)
	return data
}

// blocking is a Reader, Writer or Sink that blocks at some point: after some bytes, or in Commit.
type blocking struct {
	data    *bytes.Reader
	left    int
	reached func()
	done    chan struct{}

	inCommit bool
	aborted  bool
}

func (b *blocking) block() {
	b.reached()
	<-b.done
}

func (b *blocking) Read(p []byte) (int, error) {
	if n, err := b.data.Read(p); err == nil {
		return n, nil
	}
	b.block()
	return 0, io.EOF
}

func (b *blocking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 && !b.inCommit {
		b.block()
	}
	return len(p), nil
}

func (b *blocking) Commit(ctx context.Context) error {
	b.reached()
	<-ctx.Done()
	return context.Cause(ctx)
}

func (b *blocking) Abort() error {
	b.aborted = true
	return nil
}

// TestCancelledSort cancels a sort while it waits for its input, its output and the Commit of its
// sink, with every strategy that can be requested.
func TestCancelledSort(t *testing.T) {
	data := randomBytes(24 << 20)
	input := testfiles.Temp(t, "input", data)
	for _, strategy := range []extsort.Strategy{
		"", extsort.StrategyMerge, extsort.StrategyPartition, extsort.StrategyReread,
	} {
		for _, phase := range []string{"read", "write", "commit"} {
			if phase == "read" && strategy == extsort.StrategyReread {
				continue // it does not read streams
			}
			t.Run(string(strategy)+" "+phase, func(t *testing.T) {
				checkEndsSoon(t, func(ctx context.Context, reached func()) error {
					b := &blocking{
						data:     bytes.NewReader(data[:20<<20]),
						left:     1 << 20,
						reached:  reached,
						done:     make(chan struct{}),
						inCommit: phase == "commit",
					}
					defer close(b.done)
					job := extsort.Job{
						Input:     extsort.Input{Paths: []string{input}},
						Record:    extsort.Record{Type: extsort.U64},
						Output:    extsort.Output{Sink: b},
						Resources: extsort.Resources{Memory: 16 << 20, TempDirs: []string{t.TempDir()}},
						Tuning:    extsort.Tuning{Strategy: strategy},
					}
					if phase == "read" {
						job.Input = extsort.Input{Reader: b}
					}
					_, err := extsort.Sort(ctx, job)
					if !b.aborted {
						t.Error("the sink was not aborted")
					}
					return err
				})
			})
		}
	}
}

// TestCancelledCalls cancels every other function that takes a context.
func TestCancelledCalls(t *testing.T) {
	data := randomBytes(4 << 20)
	stream := func(reached func()) (*blocking, extsort.Input) {
		b := &blocking{data: bytes.NewReader(data), reached: reached, done: make(chan struct{})}
		return b, extsort.Input{Reader: b}
	}
	record := extsort.Record{Type: extsort.U64}

	for name, call := range map[string]func(context.Context, extsort.Input, *blocking) error{
		"check": func(ctx context.Context, in extsort.Input, _ *blocking) error {
			_, err := extsort.Check(ctx, extsort.CheckJob{Input: in, Record: record})
			return err
		},
		"merge": func(ctx context.Context, in extsort.Input, b *blocking) error {
			b.data = bytes.NewReader(make([]byte, 1<<20)) // in order
			_, err := extsort.Merge(ctx, extsort.MergeJob{
				Input:  in,
				Record: record,
				Output: extsort.Output{Writer: io.Discard},
			})
			return err
		},
		"records": func(ctx context.Context, in extsort.Input, _ *blocking) error {
			for _, err := range extsort.Records(ctx, extsort.Job{Input: in, Record: record}, nil) {
				return err
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			checkEndsSoon(t, func(ctx context.Context, reached func()) error {
				b, in := stream(reached)
				defer close(b.done)
				return call(ctx, in, b)
			})
		})
	}
}

// TestCancelledSortSlice cancels the sort of a slice while its keys are read, and while long
// strings are compared.
func TestCancelledSortSlice(t *testing.T) {
	const n = 2_000_000
	numbers := make([]uint32, n)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range numbers {
		numbers[i] = random.Uint32()
	}
	text := make([]string, len(numbers))
	for i := range text {
		text[i] = "the same prefix of all strings " + string(rune('a'+numbers[i]%26))
	}

	t.Run("keys", func(t *testing.T) {
		checkEndsSoon(t, func(ctx context.Context, reached func()) error {
			return extsort.SortSlice(ctx, numbers, extsort.By(func(v uint32) uint32 {
				if v == numbers[n/2] {
					reached()
				}
				return v
			}))
		})
	})
	t.Run("ties", func(t *testing.T) {
		checkEndsSoon(t, func(ctx context.Context, reached func()) error {
			var read atomic.Int64
			return extsort.SortSlice(ctx, text, extsort.By(func(s string) string {
				if read.Add(1) == n { // the strings are compared next
					reached()
				}
				return s
			}))
		})
	})
}
