package cpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// TestSortCancelled cancels Sort at several times, including in the middle of splitting a bucket.
// The chunk must be loadable again afterwards.
func TestSortCancelled(t *testing.T) {
	const n = 300_000
	share := time.Duration(4)
	if testing.Short() {
		share = 1
	}
	field, err := format.ParseField("0:u64")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{8, 16} {
		l := format.Layout{RecordSize: size, Key: []format.Field{field}}
		k := formattest.KeyerOf(t, l)
		r := rand.New(rand.NewPCG(31, 32))
		recs := devicetest.Distributions["uniform"](l, n, r)
		sample := devicetest.Sampled(l, recs, 1000)
		// All records are in the first of the buckets that the sample defines.
		narrow := make([]byte, len(recs))
		for at := 0; at < len(recs); at += l.RecordSize {
			binary.LittleEndian.PutUint64(narrow[at:], r.Uint64()>>20)
		}
		want := devicetest.Sorted(l, recs)
		made := openChunk(t, device.ChunkOptions{Keyer: k, Records: n, BlockBytes: 64 << 10,
			Workers: 1, Sample: sample})
		for after := time.Microsecond; ; after += after / share {
			if _, err := made.Load(t.Context(), &devicetest.Source{Recs: narrow, Size: l.RecordSize}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), after)
			err := made.Sort(ctx)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if _, err := made.Load(t.Context(), &devicetest.Source{Recs: recs, Size: l.RecordSize}); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(sortAndStore(t, made, l.RecordSize), want) {
				t.Fatalf("%d bytes: not sorted after a Sort that was cancelled after %v", size, after)
			}
		}
	}
}

// TestCountedElementsHaveRoom splits large buckets until hardly any block is free, and then a
// bucket whose majority key was counted. If it cannot be split, there must be space for the
// counted elements.
func TestCountedElementsHaveRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("a search through sizes")
	}
	k := formattest.KeyerOf(t, formattest.Bare(t, "u64"))
	const majority = 0xF000000000000000
	r := rand.New(rand.NewPCG(1, 2))
	var sample []uint64
	for range 1000 {
		sample = append(sample, r.Uint64())
	}
	for range 400 {
		sample = append(sample, majority)
	}
	const cells = 512 // every second one has more than half of a leaf
	large := leafBytes()/16 + 1
	rest := cells / 2 * (large + 1)
	opt := device.ChunkOptions{Keyer: k, Workers: 1, BlockBytes: 64 << 10, Sample: sample}
	block := newSizes(opt, int64(rest)).blockElems
	tested := 0
	for blocks := 1; blocks < 600; blocks++ { // of the majority key
		n := rest + blocks*block + 1
		opt.Records = int64(n)
		left := newSizes(opt, int64(n)).blocks - (rest+block-1)/block - 1
		if left < cells || left > cells+3 {
			continue
		}
		t.Run(fmt.Sprintf("blocks=%d", blocks), func(t *testing.T) {
			tested++
			recs := make([]byte, 0, 8*n)
			for cell := range cells {
				keys := 1
				if cell%2 == 0 {
					keys = large
				}
				for range keys {
					recs = binary.LittleEndian.AppendUint64(recs, uint64(cell)<<40|r.Uint64()>>24)
				}
			}
			clear(recs[:8])
			for range blocks * block {
				recs = binary.LittleEndian.AppendUint64(recs, majority)
			}
			recs = binary.LittleEndian.AppendUint64(recs, majority+1)
			made := openChunk(t, opt)
			if _, err := made.Load(t.Context(), &devicetest.Source{Recs: recs, Size: 8}); err != nil {
				t.Fatal(err)
			}
			got := sortAndStore(t, made, 8)
			// The result equals that of devicetest, but this is faster.
			keys := slices.Clone(arena.View[uint64](recs))
			slices.Sort(keys)
			if !bytes.Equal(got, arena.ByteView(keys)) {
				t.Error("not sorted")
			}
		})
	}
	if tested == 0 {
		t.Skip("no number of majority keys fills the chunk")
	}
}
