package session

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"testing"

	"github.com/extsort/extsort/format"
)

// Records sorts the inputs and iterates over the sorted records instead of writing them. If the
// sort fails, the last element is a nil record with the error.
func Records(ctx context.Context, opt Options) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if _, err := EachRecord(ctx, opt, yield); err != nil {
			yield(nil, err)
		}
	}
}

// TestRecordsEnd ends an iteration early: by breaking out of the loop, by cancelling the context,
// and by an error.
func TestRecordsEnd(t *testing.T) {
	data := make([]byte, 8<<20)
	spill := t.TempDir()
	options := func() Options {
		return Options{
			Stdin:    bytes.NewReader(data),
			Record:   format.Spec{Type: "u64"},
			TempDirs: []string{spill},
			Strategy: MergeRuns,
			faults:   faults{chunkRecords: 100_000, blockBytes: 64 << 10},
		}
	}
	seen := 0
	for _, err := range Records(t.Context(), options()) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen == 3 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d records before the break", seen)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lastOf(t, ctx, options()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	cut := options()
	cut.Stdin = bytes.NewReader(data[:1<<20+3])
	if _, ok := errors.AsType[*PartialRecordError](lastOf(t, t.Context(), cut)); !ok {
		t.Error("no error of a partial record")
	}
	if left, err := os.ReadDir(spill); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// lastOf returns the error of a sequence. The error must be in the last pair.
func lastOf(t *testing.T, ctx context.Context, opt Options) (last error) {
	t.Helper()
	for record, err := range Records(ctx, opt) {
		if last != nil || err != nil && record != nil {
			t.Errorf("%v, %v after %v", record, err, last)
		}
		last = err
	}
	return last
}
