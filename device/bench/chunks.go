package bench

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/format"
)

// chunks is a Bed that times a device.Device.
type chunks struct {
	device       device.Device
	preparedCase Case // the case that recs belongs to
	recs         []byte
}

// NewChunks returns a Bed that times a device through its chunks. Its Close closes the device.
func NewChunks(d device.Device) Bed { return &chunks{device: d} }

func (b *chunks) Info() device.Info { return b.device.Info() }

func (b *chunks) Close() error { return b.device.Close() }

func (b *chunks) Time(ctx context.Context, c Case, runs int) (Timing, error) {
	if !slices.Contains(b.Info().Algorithms, c.Algorithm) {
		return Timing{}, fmt.Errorf("%w: algorithm %s", ErrCannot, c.Algorithm)
	}
	p := c.Params
	if p != (algo.Params{}) && p != (algo.Params{DigitBits: 8}) {
		return Timing{}, fmt.Errorf(
			"%w: %s with parameters", ErrCannot, c.Algorithm,
		)
	}
	if err := b.prepare(c); err != nil {
		return Timing{}, err
	}
	layout := layoutOf(c.Key)
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return Timing{}, err
	}
	chunk, err := b.device.NewChunk(ctx, device.ChunkOptions{
		Keyer: keyer, Records: c.Records, BlockBytes: blockBytes, Algorithm: c.Algorithm, Sample: b.sample(keyer),
	})
	if err != nil {
		return Timing{}, err
	}
	defer chunk.Close()
	out := make([]byte, len(b.recs))
	var timing Timing
	for run := range runs + 1 {
		seconds, err := b.timeOnce(ctx, chunk, layout.RecordSize, out)
		if err != nil {
			return timing, err
		}
		if run > 0 {
			timing.Seconds = append(timing.Seconds, seconds)
			continue
		}
		given := recordColumn(b.recs, c.Key.WordBytes, c.Key.Values)
		if err := check(given, recordColumn(out, c.Key.WordBytes, c.Key.Values)); err != nil {
			return timing, err
		}
	}
	timing.Passes = chunk.Stats().Passes
	return timing, nil
}

// chunksBytes returns the memory that a case needs at least: for its records, those in the chunk,
// and the sorted ones.
func chunksBytes(c Case) int64 {
	return 3 * c.Records * int64(layoutOf(c.Key).RecordSize)
}

const blockBytes = 1 << 20 // maximum size of the blocks that a writer receives

// prepare generates the case's records unless they are the same as before.
func (b *chunks) prepare(c Case) (err error) {
	if b.recs != nil && sameKeys(c, b.preparedCase) {
		return nil
	}
	b.recs = nil
	b.recs, err = generate(c)
	b.preparedCase = c
	return err
}

// sameKeys reports whether two cases sort the same keys.
func sameKeys(a, b Case) bool {
	return a.Key == b.Key && a.Dist == b.Dist && a.Records == b.Records
}

const sampleSize = 4096

// sample returns a sample like that of the planner.
func (b *chunks) sample(k *format.Keyer) []uint64 {
	size := k.Layout().RecordSize
	n := len(b.recs) / size
	taken := make([]uint64, min(n, sampleSize))
	for i := range taken {
		taken[i] = k.Prefix(b.recs[i*n/len(taken)*size:])
	}
	return taken
}

// timeOnce sends the records through the chunk to out and returns the seconds it took.
func (b *chunks) timeOnce(
	ctx context.Context,
	chunk device.Chunk,
	size int,
	out []byte,
) (float64, error) {
	started := time.Now()
	if _, err := chunk.Load(ctx, &memorySource{
		recs: b.recs,
		size: size,
	}); err != nil {
		return 0, err
	}
	if err := chunk.Sort(ctx); err != nil {
		return 0, err
	}
	err := chunk.Store(ctx, -1, false, device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
		copy(out[first*int64(size):], recs)
		return nil
	}))
	return time.Since(started).Seconds(), err
}

// memorySource is a device.Source of records in memory.
type memorySource struct {
	recs []byte
	size int
	next atomic.Int64
}

func (s *memorySource) Records() int64 {
	return int64(len(s.recs) / s.size)
}

func (s *memorySource) Next(
	most int, place func(first int64, n int) []byte,
) (int64, int, error) {
	first := s.next.Add(int64(most)) - int64(most)
	n := int(min(int64(most), s.Records()-first))
	if n <= 0 {
		return 0, 0, nil
	}
	copy(
		place(first, n),
		s.recs[first*int64(s.size):(first+int64(n))*int64(s.size)],
	)
	return first, n, nil
}
