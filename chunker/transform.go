package chunker

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// A Transform describes new records that replace the records of the input as they are read. Each
// new record is computed from one record and its index in the input.
type Transform struct {
	Layout     format.Layout // layout of the new records
	MaxRecords int64         // maximum number of records that an index can count; 0 means no limit

	sourceBytes int // size of a record of the input

	// apply computes the new records of recs, the records from index first on.
	apply func(dst, recs []byte, first int64)

	// sample returns the keys of some of the new records.
	sample func(ctx context.Context, d Dataset, n int) (plan.Sample, error)
}

// Indexed returns a Transform to records that consist of the key of each record and its index,
// which is a little-endian integer of width bytes (4 or 8).
//
//	key fields, concatenated │ index
func Indexed(l format.Layout, width int) (*Transform, error) {
	read, err := format.NewKeyer(l)
	if err != nil {
		return nil, err
	}
	m := &Transform{sourceBytes: l.RecordSize}
	if width < 8 {
		m.MaxRecords = 1 << (8 * width)
	}
	at := 0
	for _, f := range l.Key {
		f.Offset = at
		m.Layout.Key = append(m.Layout.Key, f)
		at += f.Type.Size
	}

	m.Layout.RecordSize = at + width
	m.sample = func(ctx context.Context, d Dataset, n int) (plan.Sample, error) {
		return d.Sample(ctx, read, n)
	}
	m.apply = func(dst, recs []byte, first int64) {
		for ; len(recs) > 0; first++ {
			for i, f := range l.Key {
				copy(
					dst[m.Layout.Key[i].Offset:],
					recs[f.Offset:f.Offset+f.Type.Size],
				)
			}
			var index [8]byte
			binary.LittleEndian.PutUint64(index[:], uint64(first))
			copy(dst[at:], index[:width])
			dst = dst[at+width:]
			recs = recs[l.RecordSize:]
		}
	}
	return m, nil
}

// ShuffleKeyBytes is the size of the key that Shuffled puts before each record.
const ShuffleKeyBytes = 8

// Shuffled returns a Transform to records that sort to a random order, which depends only on the
// seed. It puts a hash of the seed and the index before each record. Two equal hashes are rare;
// they keep the order of the input.
//
//	hash: u64 │ record
func Shuffled(recordSize int, seed uint64) *Transform {
	key := format.Field{Type: format.Type{
		Kind: format.Unsigned,
		Size: ShuffleKeyBytes,
	}}
	size := recordSize + ShuffleKeyBytes
	return &Transform{
		Layout:      format.Layout{RecordSize: size, Key: []format.Field{key}},
		sourceBytes: recordSize,
		sample: func(_ context.Context, d Dataset, n int) (plan.Sample, error) {
			return shuffleSample(d, n, seed)
		},
		apply: func(dst, recs []byte, first int64) {
			for ; len(recs) > 0; first++ {
				binary.LittleEndian.PutUint64(dst, shuffleKey(seed, first))
				copy(dst[ShuffleKeyBytes:], recs[:recordSize])
				dst = dst[size:]
				recs = recs[recordSize:]
			}
		},
	}
}

// shuffleKey returns the hash that determines the new position of a record.
func shuffleKey(seed uint64, index int64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(index))
	return xxh3.Hash(b[:])
}

// shuffleSample returns the keys of records at evenly spaced positions without reading any records.
// For a stream, it returns the keys of the first n records.
func shuffleSample(d Dataset, n int, seed uint64) (plan.Sample, error) {
	records := d.Records()
	if records < 0 {
		records = int64(n)
	}
	prefixes := make([]uint64, min(int64(n), records))
	for i := range prefixes {
		prefixes[i] = shuffleKey(seed, records*int64(i)/int64(len(prefixes)))
	}
	return plan.NewSample(prefixes), nil
}

// Appended returns a Transform to records that are followed by computed keys. layout describes the
// new records, whose key can contain the new fields. apply puts records with their keys into dst.
//
//	record │ computed keys
func Appended(recordSize int, layout format.Layout, apply func(dst, recs []byte)) (*Transform, error) {
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	keys := &appendedKeys{Keyer: keyer, recordSize: recordSize, apply: apply}
	return &Transform{
		Layout:      layout,
		sourceBytes: recordSize,
		sample: func(ctx context.Context, d Dataset, n int) (plan.Sample, error) {
			return d.Sample(ctx, keys, n)
		},
		apply: func(dst, recs []byte, _ int64) { apply(dst, recs) },
	}, nil
}

// appendedKeys computes the prefixes of the records that Appended makes of records.
type appendedKeys struct {
	*format.Keyer // of the new records
	recordSize    int
	apply         func(dst, recs []byte)
}

// Layout returns the layout of the records before they are transformed. It has no key.
func (k *appendedKeys) Layout() format.Layout { return format.Layout{RecordSize: k.recordSize} }

// Prefixes sets dst to the prefixes of the new records.
func (k *appendedKeys) Prefixes(dst []uint64, recs []byte) {
	longer := make([]byte, len(dst)*k.Keyer.Layout().RecordSize)
	k.apply(longer, recs)
	k.Keyer.Prefixes(dst, longer)
}

// Transformed returns a dataset whose records are transformed as they are read. The first record
// has the given index in the whole input.
func Transformed(d Dataset, m *Transform, first int64) Dataset {
	buffers := &transformBuffers{}
	return &transformed{m, d, Wrapped(d, func(src device.Source, before int64) device.Source {
		return &transformedSource{
			Source:     src,
			transform:  m,
			firstIndex: first + before,
			buffers:    buffers,
		}
	})}
}

// transformBuffers are buffers of all sources of a dataset, at most one for each worker. A sync.Pool
// would lose them in every garbage collection, and those are frequent if the heap is small.
type transformBuffers struct {
	mu   sync.Mutex
	free []*transformBuffer
}

type transformBuffer [plan.TransformBytes]byte

// take returns a buffer that nothing else uses.
func (b *transformBuffers) take() *transformBuffer {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.free) - 1
	if last < 0 {
		return new(transformBuffer)
	}
	buf := b.free[last]
	b.free = b.free[:last]
	return buf
}

func (b *transformBuffers) put(buf *transformBuffer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, buf)
}

type transformed struct {
	transform *Transform
	source    Dataset
	Dataset
}

// Sample returns a sample of the keys of the new records.
func (r *transformed) Sample(
	ctx context.Context,
	_ format.Prefixer,
	n int,
) (plan.Sample, error) {
	return r.transform.sample(ctx, r.source, n)
}

// A transformedSource transforms the records of a source, whose first record has the index base.
type transformedSource struct {
	device.Source
	transform  *Transform
	firstIndex int64
	buffers    *transformBuffers
}

func (s *transformedSource) ReadAhead(ctx context.Context, maxBytes int64) {
	input.ReadAhead(
		ctx,
		s.Source,
		maxBytes/int64(s.transform.Layout.RecordSize)*int64(s.transform.sourceBytes),
	)
}

func (s *transformedSource) Next(
	most int, place func(first int64, n int) []byte,
) (int64, int, error) {
	buf := s.buffers.take()
	defer s.buffers.put(buf)

	read := buf[:]
	made := []byte(nil)
	if s.transform.sourceBytes > len(read) {
		read = make([]byte, s.transform.sourceBytes)
	}
	first, n, err := s.Source.Next(min(most, len(read)/s.transform.sourceBytes), func(first int64, n int) []byte {
		made = place(first, n)
		return read[:n*s.transform.sourceBytes]
	})
	end := s.firstIndex + first + int64(n)
	if err == nil && s.transform.MaxRecords > 0 &&
		end > s.transform.MaxRecords {
		return first, 0, fmt.Errorf(
			"there are more than %d records: use positions of type u64", s.transform.MaxRecords,
		)
	}
	if n > 0 && err == nil {
		s.transform.apply(made, read[:n*s.transform.sourceBytes], s.firstIndex+first)
	}
	return first, n, err
}
