package device_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestEmitter adds pieces of various lengths to blocks of three records and checks which blocks
// are written.
func TestEmitter(t *testing.T) {
	for _, c := range []struct {
		left   int64
		pieces []string
		want   string
	}{
		{left: 9, want: "[]"},
		{left: 9, pieces: []string{"ab"}, want: "[5:ab]"},
		{left: 9, pieces: []string{"ab", "cdef", "ghijklmn"}, want: "[5:abcdef 8:ghijkl 11:mn]"},
		{left: 9, pieces: []string{"abcdefghijklmnop"}, want: "[5:abcdef 8:ghijkl 11:mnop]"},
		{left: 4, pieces: []string{"ab", "cdef", "ghijklmn"}, want: "[5:abcdef 8:gh]"},
		{left: 3, pieces: []string{"abcdefgh", "ij"}, want: "[5:abcdef]"},
		{left: 0, pieces: []string{"ab"}, want: "[]"},
	} {
		var got []string
		e := device.Emitter{Size: 2, First: 5, Left: c.left, Buf: make([]byte, 0, 6),
			To: device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
				got = append(got, fmt.Sprintf("%d:%s", first, recs))
				return nil
			})}
		for _, piece := range c.pieces {
			if err := e.Add(t.Context(), []byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Flush(t.Context()); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%d records, %q: %s, want %s, error %v", c.left, c.pieces, got, c.want, err)
		}
	}
}
