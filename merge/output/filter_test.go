package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestClip appends to a stream: blocks before its end, across its end and after it.
func TestClip(t *testing.T) {
	const size = 3
	recs := make([]byte, 100*size)
	for i := range recs {
		recs[i] = byte(i)
	}
	for _, from := range []int64{0, 1, 9, 10, 55, 100} {
		var got []byte
		tail := Clip(from, math.MaxInt64, device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
			if first != from+int64(len(got)/size) || len(recs) == 0 {
				t.Errorf("from %d: %d bytes from record %d on behind %d", from, len(recs), first, len(got)/size)
			}
			got = append(got, recs...)
			return nil
		}), size)
		for first := int64(0); first < 100; first += 10 {
			if err := tail.WriteBlock(t.Context(), first, recs[first*size:(first+10)*size]); err != nil {
				t.Fatal(err)
			}
		}
		if want := recs[from*size:]; !bytes.Equal(got, want) {
			t.Errorf("from %d: %d bytes are left, want %d", from, len(got), len(want))
		}
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
	if got.String() != want.String() || s.turns.Finish(50) != nil {
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
