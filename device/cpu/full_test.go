package cpu

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// fullCases is the number of chunks that TestNeverFull fills.
const fullCases = 3000

// TestNeverFull fills chunks of exactly MaxRecords records with data that needs many blocks. The
// pool must never run out of blocks, with any distribution, sample, number of workers and source.
func TestNeverFull(t *testing.T) {
	before := unitBytes
	defer func() { unitBytes = before }()
	layouts := fullLayouts(t)
	cases := uint64(fullCases)
	if testing.Short() {
		cases /= 5
	}
	for seed := range cases {
		r := rand.New(rand.NewPCG(seed, 81))
		inCacheOf := 1 << (9 + r.IntN(6))
		inCache(t, inCacheOf)
		unitBytes = inCacheOf * (1 + r.IntN(4))
		l := layouts[r.IntN(len(layouts))]
		c := fullCase{l: l, memory: int64(math.Exp2(14 + 5.5*r.Float64())), r: r}
		if err := c.run(t.Context()); err != nil {
			t.Fatalf("seed %d: %d-byte records, cache %d, unit %d, %v: %v", seed, l.RecordSize, inCacheOf, unitBytes, c, err)
		}
	}
}

// fullLayouts returns layouts of bare keys, of records that are moved whole, and of wide records.
func fullLayouts(t *testing.T) (layouts []format.Layout) {
	for _, name := range strings.Fields("bytes3 bytes4 bytes5 bytes6 bytes7 bytes8 u64 u32 u128 bytes12") {
		layouts = append(layouts, formattest.Bare(t, name))
	}
	u64 := format.Type{Kind: format.Unsigned, Size: 8}
	return append(layouts,
		recordsOf(12, u64), recordsOf(16, u64), recordsOf(8, format.Type{Kind: format.Bytes, Size: 3}),
		recordsOf(40, format.Type{Kind: format.Bytes, Size: 30}), recordsOf(24, u64))
}

// fullCase is one chunk, with the parameters of its records.
type fullCase struct {
	l       format.Layout
	memory  int64
	r       *rand.Rand
	workers int
	records int64
	skew    string
	sample  string
	how     string
}

func (c fullCase) String() string {
	return fmt.Sprintf("%d bytes of memory, %d workers, %d records, %s, sample %s, %s",
		c.memory, c.workers, c.records, c.skew, c.sample, c.how)
}

// run loads, sorts and stores a chunk.
func (c *fullCase) run(ctx context.Context) error {
	k, err := format.NewKeyer(c.l)
	if err != nil {
		return err
	}
	c.workers = 1 + c.r.IntN(8)
	opt := device.ChunkOptions{Keyer: k, Workers: c.workers, BlockBytes: 1 << (8 + c.r.IntN(10)), MemoryBytes: c.memory}
	c.how = pick(c.r, "Load", "Load", "Load of a pipe", "Load of less", "Select")
	more := int64(1)
	if c.how == "Select" && New().Capabilities(device.ChunkOptions{Keyer: k}).Selects {
		more = 2 + c.r.Int64N(3)
		opt.SourceRecords = 1
	}
	for range 2 { // the content of the source depends on the capacity of the chunk
		opt.Records = New().MaxRecords(opt, c.memory)
		opt.SourceRecords *= more * opt.Records / max(opt.SourceRecords, 1)
	}
	opt.Records = New().MaxRecords(opt, c.memory)
	if c.records = opt.Records; c.records == 0 {
		return nil
	}
	n := c.records * more
	if c.how == "Load of less" {
		n -= c.r.Int64N(n/2 + 1)
	}
	recs := c.make(int(n))
	opt.Sample = c.sampleOf(recs)
	made, err := New().NewChunk(ctx, opt)
	if err != nil {
		return err
	}
	defer made.Close()
	for range 1 + c.r.IntN(2) { // the second time, the memory contains data of the first time
		if err := c.fill(ctx, made, recs, more > 1); err != nil {
			return err
		}
	}
	return nil
}

// fill checks everything except the order of selected records, which other tests check.
func (c *fullCase) fill(ctx context.Context, made device.Chunk, recs []byte, selects bool) error {
	src := &devicetest.Source{Recs: recs, Size: c.l.RecordSize}
	if c.how == "Load of a pipe" {
		src.Units = []int{1 + c.r.IntN(1000), 1 + c.r.IntN(10)}
	}
	var loaded int64
	var err error
	if selects {
		loaded, _, err = made.Select(ctx, src, 0, math.MaxUint64)
		if errors.Is(err, device.ErrTooMany) {
			return nil
		}
	} else {
		loaded, err = made.Load(ctx, src)
	}
	if err == nil {
		err = made.Sort(ctx)
	}
	if err != nil {
		return err
	}
	w := devicetest.Collector{Size: c.l.RecordSize}
	if err := made.Store(ctx, -1, false, &w); err != nil {
		return err
	}
	got, err := w.Recs()
	want := devicetest.Sorted(c.l, recs)
	if err == nil && (len(got) != int(loaded)*c.l.RecordSize || !selects && len(got) != len(recs)) {
		err = fmt.Errorf("%d bytes of %d", len(got), len(want))
	}
	if err == nil && !bytes.Equal(got, want[:len(got)]) {
		err = errors.New("not in order")
	}
	return err
}

func pick[T any](r *rand.Rand, some ...T) T { return some[r.IntN(len(some))] }

// make generates n records. Bytes outside the key contain the index of the record, as far as
// there is space.
func (c *fullCase) make(n int) []byte {
	size, width := c.l.RecordSize, c.l.KeySize()
	recs := make([]byte, n*size)
	c.skew = pick(c.r, "equal", "two", "zipf", "exponential", "sorted", "twice", "last", "uniform", "ends", "clumps",
		"alternate")
	zipf := rand.NewZipf(c.r, 1.05+c.r.Float64(), 1, 1<<20)
	per, times := 20+c.r.IntN(2000), 8+c.r.IntN(40)
	gap := math.MaxUint64 / uint64(n/per+1)
	two, clumps, clump := c.r.Uint64(), c.r.IntN(60), uint(c.r.IntN(64))
	for i := range n {
		x := c.r.Uint64()
		switch c.skew {
		case "equal":
			x = two
		case "two":
			x = two ^ x&1<<clump
		case "zipf":
			x = zipf.Uint64() * 0x9E3779B97F4A7C15
		case "exponential":
			x >>= c.r.UintN(64)
		case "sorted":
			x = uint64(float64(i) / float64(n) * math.MaxUint64)
		case "twice":
			x = uint64(i/2) * 0x9E3779B97F4A7C15
		case "last":
			x &= 0xFF
		case "ends":
			x = pick(c.r, 0, math.MaxUint64, x, x>>32)
		case "clumps":
			x = x>>clump ^ two*(x%uint64(1+clumps))
		case "alternate": // with a key that occurs several times
			first := uint64(i/per) * gap
			if x = first + gap/4 + x%(gap/2); i%per <= times {
				x = first + uint64(i%per/times)
			}
		}
		rec := recs[i*size:][:size]
		c.put(rec[:width], x)
		if size >= width+4 {
			binary.LittleEndian.PutUint32(rec[width:], uint32(i))
		}
	}
	return recs
}

// put stores x as a big-endian key. A wide key ends with it.
func (c *fullCase) put(key []byte, x uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], x)
	from := b[:]
	if len(key) < 8 {
		if from = b[:len(key)]; c.skew == "last" || c.skew == "exponential" || c.skew == "two" {
			from = b[8-len(key):]
		}
	}
	copy(key[len(key)-len(from):], from)
	if c.l.Key[0].Type.Kind == format.Unsigned {
		slices.Reverse(key)
	}
}

// sampleOf returns a sample of the records, or a misleading one.
func (c *fullCase) sampleOf(recs []byte) []uint64 {
	sample := devicetest.Sampled(c.l, recs, 1+c.r.IntN(2000))
	high := ^uint64(0) >> (64 - min(64, 8*c.l.KeySize()))
	switch c.sample = pick(c.r, "none", "true", "true", "ends", "equal", "uniform", "low", "few"); c.sample {
	case "none":
		return nil
	case "ends":
		return []uint64{0, high}
	case "equal":
		return slices.Repeat(sample[:1], len(sample))
	case "few":
		return slices.Repeat(sample[:min(len(sample), 200)], 10)
	case "uniform":
		for i := range sample {
			sample[i] = c.r.Uint64() & high
		}
	case "low":
		for i := range sample {
			sample[i] = uint64(i)
		}
	}
	return sample
}
