package merge

import (
	"context"
	"encoding/binary"
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
