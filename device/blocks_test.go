package device_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

// TestFullBlocks reads a source that cuts its blocks short with several workers. Every block but
// the last must be full, and its records must be in their places.
func TestFullBlocks(t *testing.T) {
	const (
		size         = 4
		records      = 10_007
		blockRecords = 64
	)
	var recs []byte
	for i := range records {
		recs = binary.LittleEndian.AppendUint32(recs, uint32(i))
	}
	for _, short := range [][]int{nil, {1}, {63, 1}, {64}, {1000}, {7, 40, 2}} {
		src := device.FullBlocks(&devicetest.Source{Recs: recs, Size: size, Short: short}, size)
		if src.Records() != records {
			t.Fatalf("%d records, due are %d", src.Records(), records)
		}
		got := make([]byte, len(recs))
		err := device.Each(t.Context(), 4, func(context.Context, int) error {
			for {
				var block []byte
				first, n, err := src.Next(blockRecords, func(first int64, n int) []byte {
					block = make([]byte, n*size)
					return block
				})
				if n == 0 || err != nil {
					return err
				}
				if first%blockRecords != 0 || n != blockRecords && first+int64(n) != records {
					t.Errorf("short blocks %v: a block of %d records at %d", short, n, first)
				}
				copy(got[first*size:], block)
			}
		})
		if err != nil || !bytes.Equal(got, recs) {
			t.Errorf("short blocks %v: the records are not the same (%v)", short, err)
		}
	}
}

// TestFullBlocksFail uses a source whose third read fails, in the middle of a block. That call
// and all later ones must fail.
func TestFullBlocksFail(t *testing.T) {
	broken := errors.New("broken")
	source := devicetest.Source{Recs: make([]byte, 4000), Size: 4, Short: []int{10}, FailAt: 3, Err: broken}
	src := device.FullBlocks(&source, 4)
	for range 3 {
		_, n, err := src.Next(40, func(int64, int) []byte { return make([]byte, 160) })
		if n != 0 || !errors.Is(err, broken) {
			t.Fatalf("%d records, %v", n, err)
		}
	}
}

// TestCopy copies sources with a partial last block and with short blocks.
func TestCopy(t *testing.T) {
	recs := make([]byte, 3*1000)
	for i := range recs {
		recs[i] = byte(i * i)
	}
	for _, short := range [][]int{nil, {1, 5}} {
		src := &devicetest.Source{Recs: recs, Size: 3, Short: short} // checks the memory it gets
		got := make([]byte, len(recs))
		w := blockFunc(func(first int64, block []byte) { copy(got[first*3:], block) })
		if err := device.Copy(t.Context(), src, 2, 64, 3, w); err != nil || !bytes.Equal(got, recs) {
			t.Errorf("short blocks %v: %v", short, err)
		}
	}
}

// blockFunc is a BlockWriter that calls a function.
type blockFunc func(first int64, block []byte)

func (f blockFunc) WriteBlock(_ context.Context, first int64, block []byte) error {
	f(first, block)
	return nil
}
