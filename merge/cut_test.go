package merge

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/safely"
)

// TestSpansKeepWorkersBusy merges runs whose blocks all begin at the same keys. Every other cut
// then leaves an empty span, and the spans between them contain all blocks at once. No worker may
// get much more than a block of output.
func TestSpansKeepWorkersBusy(t *testing.T) {
	const fanIn, perRun, blockRecords = 20, 1000, 100
	k := formattest.KeyerOf(t, formattest.Bare(t, "u64"))
	parts := make([][]byte, fanIn)
	for i := range parts {
		for j := range perRun {
			parts[i] = binary.NativeEndian.AppendUint64(parts[i], uint64(j*1000+i))
		}
	}
	opt := Options{Keyer: k, Workers: 3, BlockBytes: 8 * blockRecords, Limit: -1}
	m, err := newMerging(&opt, memoryRuns(k, parts, blockRecords))
	if err != nil {
		t.Fatal(err)
	}
	for range cap(m.free) {
		m.free <- make([]byte, 8*blockRecords)
	}
	group, ctx := safely.WithContext(t.Context())
	group.Go(func() error { return m.load(ctx) })
	spans := make(chan *span)
	group.Go(func() error {
		defer close(spans)
		defer close(m.enough)
		return newCutter(&opt, fanIn).dispatch(ctx, opt.Limit, m.advance, spans)
	})
	var records, pieces int64
	for s := range spans {
		records, pieces = records+s.records, pieces+1
		s.release()
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if records != fanIn*perRun {
		t.Errorf("%d of %d records are in spans", records, fanIn*perRun)
	}
	if least := int64(fanIn * perRun / (2 * blockRecords)); pieces < least {
		t.Errorf("%d spans, want at least %d", pieces, least)
	}
}

// TestDisorder checks that the first record that is less than its predecessor is found, also among
// equal ones.
func TestDisorder(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u64"))
	for _, c := range []struct {
		keys []uint64
		want int
	}{
		{nil, -1}, {[]uint64{5}, -1}, {[]uint64{5, 5}, -1}, {[]uint64{0, 1, 1, math.MaxUint64}, -1},
		{[]uint64{math.MaxUint64, 0}, 1}, {[]uint64{1, 1, 2, 1, 0}, 3}, {[]uint64{1, 1, 1, 0}, 3},
	} {
		if got := firstDisorder(k, c.keys, nil); got != c.want {
			t.Errorf("%d: record %d is out of order, want %d", c.keys, got, c.want)
		}
	}
}
