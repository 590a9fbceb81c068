package merge

import (
	"context"
	"encoding/binary"
	"math"
	"sync/atomic"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestSpansKeepWorkersBusy merges runs whose blocks all begin at the same keys, so that every other cut leaves a span
// of nothing, and what is between them is all blocks at once. No worker may get much more than a block of output.
func TestSpansKeepWorkersBusy(t *testing.T) {
	const fanIn, perRun, blockRecords = 20, 1000, 100
	k := keyer(t, bare(t, "u64"))
	parts := make([][]byte, fanIn)
	for i := range parts {
		for j := range perRun {
			parts[i] = binary.NativeEndian.AppendUint64(parts[i], uint64(j*1000+i))
		}
	}
	var written atomic.Int64
	sink := device.BlockWriterFunc(func(_ context.Context, _ int64, recs []byte) error {
		written.Add(int64(len(recs) / 8))
		return nil
	})
	opt := Options{Keyer: k, Workers: 3, BlockBytes: 8 * blockRecords, Limit: -1}
	stats, err := Merge(t.Context(), opt, memoryRuns(k, parts, blockRecords), sink)
	if err != nil {
		t.Fatal(err)
	}
	if n := written.Load(); n != fanIn*perRun {
		t.Errorf("%d of %d records were written", n, fanIn*perRun)
	}
	if least := int64(fanIn * perRun / (2 * blockRecords)); stats.Ranges < least {
		t.Errorf("%d spans, want at least %d", stats.Ranges, least)
	}
}

// TestDisorder looks for the first record that is less than the one before it, among equal ones.
func TestDisorder(t *testing.T) {
	k := keyer(t, bare(t, "u64"))
	for _, c := range []struct {
		keys []uint64
		want int
	}{
		{nil, -1}, {[]uint64{5}, -1}, {[]uint64{5, 5}, -1}, {[]uint64{0, 1, 1, math.MaxUint64}, -1},
		{[]uint64{math.MaxUint64, 0}, 1}, {[]uint64{1, 1, 2, 1, 0}, 3}, {[]uint64{1, 1, 1, 0}, 3},
	} {
		if got := disorder(k, c.keys, nil); got != c.want {
			t.Errorf("%d: record %d is out of order, want %d", c.keys, got, c.want)
		}
	}
}
