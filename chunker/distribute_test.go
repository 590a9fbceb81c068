package chunker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// collect reads a queue with several goroutines and returns its records by their index.
func collect(q *Queue, size, readers int) ([]byte, error) {
	type got struct {
		first int64
		recs  []byte
	}
	pieces := make(chan got, 1<<12)
	var group errgroup.Group
	for i := range readers {
		group.Go(func() error {
			for {
				var dst []byte
				first, n, err := q.Next(1+i*50, func(_ int64, n int) []byte {
					dst = make([]byte, n*size)
					return dst
				})
				if n == 0 || err != nil {
					return err
				}
				pieces <- got{first, dst}
			}
		})
	}
	var all []got
	done := make(chan struct{})
	go func() {
		for p := range pieces {
			all = append(all, p)
		}
		close(done)
	}()
	err := group.Wait()
	close(pieces)
	<-done
	slices.SortFunc(all, func(a, b got) int { return int(a.first - b.first) })
	var joined []byte
	for _, p := range all {
		if int(p.first)*size != len(joined) {
			return nil, errors.Join(err, errors.New("records are missing"))
		}
		joined = append(joined, p.recs...)
	}
	return joined, err
}

// TestDistribute sends records of a key and their position to three queues, and finds them there in their order.
func TestDistribute(t *testing.T) {
	layout := format.Layout{RecordSize: 12, Key: []format.Field{{Type: format.Type{Kind: format.Unsigned, Size: 8}}}}
	k, err := format.NewKeyer(layout)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 7, 1000, 20001} {
		recs := make([]byte, 12*n)
		for i := range n {
			binary.LittleEndian.PutUint64(recs[12*i:], r.Uint64N(50))
			binary.LittleEndian.PutUint32(recs[12*i+8:], uint32(i))
		}
		sample := make([]uint64, n)
		k.Prefixes(sample, recs)
		slices.Sort(sample)
		c := NewClassifier(sample, 20)
		queueOf, samples := c.Share(sample, 3)
		limits := []int64{int64(len(samples[0])), int64(len(samples[1])), int64(len(samples[2]))}
		for _, short := range []int64{0, 1} {
			if limits[0] -= short; limits[0] < 0 {
				continue
			}
			parts, err := distribute(k, c, queueOf, limits, recs)
			if short > 0 {
				if !errors.Is(err, ErrQueueFull) {
					t.Errorf("%d records: error %v where a queue is too small", n, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			parted := make([]uint16, n)
			keys := make([]uint64, n)
			k.Prefixes(keys, recs)
			c.Classify(parted, keys)
			want := make([][]byte, 3)
			for i, p := range parted {
				want[queueOf[p]] = append(want[queueOf[p]], recs[12*i:12*i+12]...)
			}
			for q := range want {
				if !bytes.Equal(parts[q], want[q]) {
					t.Errorf("%d records: queue %d has not the records of its range in their order", n, q)
				}
			}
		}
	}
}

func distribute(k *format.Keyer, c *Classifier, queueOf []uint16, limits []int64, recs []byte) ([][]byte, error) {
	d, err := NewDistributor(k, c, queueOf, limits, 3, 12<<10)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	parts := make([][]byte, len(limits))
	var group errgroup.Group
	for i, q := range d.Queues() {
		group.Go(func() (err error) {
			parts[i], err = collect(q, 12, 3)
			return err
		})
	}
	var src device.Source = ReaderSource(bytes.NewReader(recs), 0, int64(len(recs)/12), 12)
	group.Go(func() error { return d.Run(context.Background(), src) })
	return parts, group.Wait()
}

// BenchmarkDistribute sends u64 keys from memory to two queues.
func BenchmarkDistribute(b *testing.B) {
	const n = 1 << 24
	k, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Unsigned, Size: 8}))
	if err != nil {
		b.Fatal(err)
	}
	recs := make([]byte, 8*n)
	rand.NewChaCha8([32]byte{}).Read(recs)
	sample := make([]uint64, 1<<14)
	k.Prefixes(sample, recs[:8<<14])
	slices.Sort(sample)
	c := NewClassifier(sample, 128)
	queueOf, _ := c.Share(sample, 2)
	b.SetBytes(8 * n)
	for b.Loop() {
		d, err := NewDistributor(k, c, queueOf, []int64{n, n}, 32, 128<<20)
		if err != nil {
			b.Fatal(err)
		}
		var group errgroup.Group
		for _, q := range d.Queues() {
			for range 32 {
				group.Go(func() error {
					dst := make([]byte, 4<<20)
					for {
						if _, n, err := q.Next(len(dst)/8, func(int64, int) []byte { return dst }); n == 0 || err != nil {
							return err
						}
					}
				})
			}
		}
		group.Go(func() error { return d.Run(context.Background(), ReaderSource(bytes.NewReader(recs), 0, n, 8)) })
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		d.Close()
	}
}
