package merge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
)

// TestUniqueOfMerge lets a parallel merge write through all filters.
func TestUniqueOfMerge(t *testing.T) {
	l := fields(t, 16, "0:u16")
	k := keyer(t, l)
	for _, shape := range shapes {
		rng := rand.New(rand.NewPCG(7, 7))
		runs, all := sortedParts(k, parts(l, shape.fill, 7, 1500, rng))
		var want []byte
		for at := 0; at < len(all); at += 16 {
			if at == 0 || k.Compare(all[at-16:at], all[at:at+16]) != 0 {
				want = append(want, all[at:at+16]...)
			}
		}
		limit := int64(len(want)/16 - len(want)/160)
		out := newCollector(k, 1<<20)
		var seen atomic.Int64
		observed := Observe(func(_ int64, recs []byte) error { seen.Add(int64(len(recs) / 16)); return nil }, out)
		unique := NewUnique(k, Head(limit, observed, 16))
		opt := Options{Keyer: k, Workers: 4, BlockBytes: 160, Limit: -1}
		if _, err := Merge(context.Background(), opt, memoryRuns(k, runs, 30), unique); err != nil {
			t.Fatal(err)
		}
		if unique.Records() != int64(len(want)/16) || seen.Load() != limit {
			t.Errorf("%s: %d distinct keys, %d seen, want %d, %d", shape.name, unique.Records(), seen.Load(), len(want)/16, limit)
		}
		if got := out.result(t); !bytes.Equal(got, want[:limit*16]) {
			t.Errorf("%s: the first of equal records are not what is left", shape.name)
		}
	}
}

func TestOffsetConcatenates(t *testing.T) {
	out := newCollector(keyer(t, bare(t, "u8")), 9)
	base := int64(0)
	for _, part := range []string{"ab", "cde", "f"} {
		if err := Offset(base, out).WriteBlock(t.Context(), 0, []byte(part)); err != nil {
			t.Fatal(err)
		}
		base += int64(len(part))
	}
	if got := string(out.result(t)); got != "abcdef" {
		t.Errorf("parts were appended to %q", got)
	}
}

func TestStreamSinkOrders(t *testing.T) {
	var got strings.Builder
	s := NewStreamSink(&got, 3)
	faults := make(chan error)
	var want strings.Builder
	for i := range 50 {
		fmt.Fprintf(&want, "%03d", i)
		go func() { faults <- s.WriteBlock(context.Background(), int64(i), fmt.Appendf(nil, "%03d", i)) }()
	}
	for range 50 {
		if err := <-faults; err != nil {
			t.Error(err)
		}
	}
	if got.String() != want.String() || s.Records() != 50 {
		t.Errorf("the stream has %q", got.String())
	}
}

func TestStreamSinkStopsWaiting(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := NewStreamSink(&strings.Builder{}, 1)
	faults := make(chan error)
	for first := range int64(2) {
		go func() { faults <- s.WriteBlock(ctx, first+1, []byte("x")) }()
	}
	stop := errors.New("stop")
	cancel(stop)
	for range 2 {
		if err := <-faults; !errors.Is(err, stop) {
			t.Errorf("a cancelled write says %v", err)
		}
	}
}
