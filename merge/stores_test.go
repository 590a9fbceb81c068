package merge

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/safely"
)

// storedChunk is a Stored of records in memory that several goroutines write. After each write
// they overwrite their buffers, as a device does that reuses them.
func storedChunk(k *format.Keyer, recs []byte, blockRecords, writers int) Stored {
	size := k.Layout().RecordSize
	store := func(ctx context.Context, w device.BlockWriter) error {
		var mu sync.Mutex
		at := 0
		next := func(buf []byte) (first int64, block []byte) {
			mu.Lock()
			defer mu.Unlock()
			first, block = int64(at/size), append(buf[:0], recs[at:min(at+blockRecords*size, len(recs))]...)
			at += len(block)
			return first, block
		}
		group, ctx := safely.WithContext(ctx)
		for range writers {
			group.Go(func() error {
				buf := make([]byte, blockRecords*size)
				for {
					first, block := next(buf)
					if len(block) == 0 {
						return nil
					}
					if err := w.WriteBlock(ctx, first, block); err != nil {
						return err
					}
					for i := range block {
						block[i] = 0x55
					}
				}
			})
		}
		return group.Wait()
	}
	return store
}

func storedChunks(k *format.Keyer, runs [][]byte, rng *rand.Rand) []Stored {
	var list []Stored
	for _, r := range runs {
		list = append(list, storedChunk(k, r, 1+rng.IntN(200), 1+rng.IntN(5)))
	}
	return list
}

// TestStoresUnaligned merges words at unaligned addresses.
func TestStoresUnaligned(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "u64"))
	rng := rand.New(rand.NewPCG(1, 2))
	runs, want := sortedParts(k, parts(formattest.Bare(t, "u64"), shapes[0].fill, 3, 500, rng))
	inputs := storedChunks(k, runs, rng)
	for i, store := range inputs {
		inputs[i] = func(ctx context.Context, w device.BlockWriter) error {
			return store(ctx, device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
				return w.WriteBlock(ctx, first, append(make([]byte, 1), recs...)[1:])
			}))
		}
	}
	out := newCollector(k, 4096)
	opt := Options{Keyer: k, Workers: 2, BlockBytes: 4096, Limit: -1}
	if err := Stores(context.Background(), opt, inputs, out); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Written(t), want) {
		t.Error("wrong order")
	}
}

// TestStoresFaults makes an input or the writer fail, at several positions.
func TestStoresFaults(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Bare(t, "i64"))
	rng := rand.New(rand.NewPCG(3, 4))
	runs, _ := sortedParts(k, parts(formattest.Bare(t, "i64"), shapes[0].fill, 3, 3000, rng))
	broken := errors.New("broken")
	merge := func(w device.BlockWriter, change func(*Stored)) error {
		inputs := storedChunks(k, runs, rng)
		change(&inputs[2])
		err := Stores(context.Background(), Options{Keyer: k, Workers: 3, BlockBytes: 800, Limit: -1}, inputs, w)
		return err
	}
	for _, after := range []int64{0, 1, 1500, 2999} {
		failing := device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
			if first+int64(len(recs)/8) > after {
				return broken
			}
			return nil
		})
		if err := merge(failing, func(*Stored) {}); !errors.Is(err, broken) {
			t.Errorf("the writer failed after record %d: %v", after, err)
		}
		err := merge(newCollector(k, 800), func(in *Stored) {
			store := *in
			*in = func(ctx context.Context, w device.BlockWriter) error {
				return store(ctx, device.BlockWriterFunc(func(ctx context.Context, first int64, recs []byte) error {
					if first+int64(len(recs)/8) > after {
						return broken
					}
					return w.WriteBlock(ctx, first, recs)
				}))
			}
		})
		if !errors.Is(err, broken) {
			t.Errorf("an input failed after record %d: %v", after, err)
		}
	}
}

func TestStoresCancelled(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Fields(t, 16, "0:u64"))
	rng := rand.New(rand.NewPCG(5, 6))
	runs, _ := sortedParts(k, parts(k.Layout(), shapes[0].fill, 2, 5000, rng))
	ctx, cancel := context.WithCancel(context.Background())
	w := device.BlockWriterFunc(func(context.Context, int64, []byte) error { cancel(); return nil })
	err := Stores(ctx, Options{Keyer: k, Workers: 2, BlockBytes: 800, Limit: -1}, storedChunks(k, runs, rng), w)
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStoresWithinMemory(t *testing.T) {
	k := formattest.KeyerOf(t, formattest.Fields(t, 100, "0:bytes10"))
	rng := rand.New(rand.NewPCG(7, 8))
	runs, want := sortedParts(k, parts(k.Layout(), shapes[0].fill, 3, 1000, rng))
	for _, memory := range []int64{1000, 15_000, 20_000, 40_000, 200_000, 1 << 30} {
		opt := Options{Keyer: k, Workers: 4, BlockBytes: 10_000, MemoryBytes: memory}
		n, err := opt.streamBlock(3)
		used := int64(3*streamBuffers)*plan.MergeBuffer(k, n) + int64(opt.Workers)*opt.workerBytes()
		if err == nil && used > memory {
			t.Errorf("%d bytes of memory: %d used", memory, used)
		}
		if (err != nil) != (memory < opt.workerBytes()+int64(3*streamBuffers)*plan.MergeBuffer(k, 1)) {
			t.Errorf("%d bytes of memory: %v", memory, err)
		}
		if err != nil {
			continue
		}
		out := newCollector(k, 10_000)
		opt.Limit = -1
		if err := Stores(context.Background(), opt, storedChunks(k, runs, rng), out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Written(t), want) {
			t.Fatalf("%d bytes of memory: wrong order", memory)
		}
	}
}
