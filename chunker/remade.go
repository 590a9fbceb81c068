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

// Remaking makes records of what is read: each from a record and its index among all.
type Remaking struct {
	Layout     format.Layout // of what is made
	MaxRecords int64         // that an index can count; 0: any number

	from   int                                                              // bytes of a record that is read
	fill   func(dst, recs []byte, first int64)                              // makes records of those from index first on
	sample func(ctx context.Context, d Dataset, n int) (plan.Sample, error) // of the keys of what is made
}

// Indexed makes records of the key of each and its index, little-endian, in width bytes: 4 or 8.
//
//	key fields, one behind the other │ index
func Indexed(l format.Layout, width int) (*Remaking, error) {
	read, err := format.NewKeyer(l)
	if err != nil {
		return nil, err
	}
	m := &Remaking{from: l.RecordSize}
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
	m.sample = func(ctx context.Context, d Dataset, n int) (plan.Sample, error) { return d.Sample(ctx, read, n) }
	m.fill = func(dst, recs []byte, first int64) {
		for ; len(recs) > 0; first++ {
			for i, f := range l.Key {
				copy(dst[m.Layout.Key[i].Offset:], recs[f.Offset:f.Offset+f.Type.Size])
			}
			var index [8]byte
			binary.LittleEndian.PutUint64(index[:], uint64(first))
			copy(dst[at:], index[:width])
			dst, recs = dst[at+width:], recs[l.RecordSize:]
		}
	}
	return m, nil
}

// ShuffleKeyBytes is the size of the key that Shuffled puts before each record.
const ShuffleKeyBytes = 8

// Shuffled makes records that sort to an order that chance and the seed give: before each stands a hash of the seed and
// its index. Of two equal hashes, which are rare, the stable order decides.
//
//	hash: u64 │ record
func Shuffled(recordSize int, seed uint64) *Remaking {
	key := format.Field{Type: format.Type{Kind: format.Unsigned, Size: ShuffleKeyBytes}}
	size := recordSize + ShuffleKeyBytes
	return &Remaking{
		Layout: format.Layout{RecordSize: size, Key: []format.Field{key}}, from: recordSize,
		sample: func(_ context.Context, d Dataset, n int) (plan.Sample, error) { return shuffleSample(d, n, seed) },
		fill: func(dst, recs []byte, first int64) {
			for ; len(recs) > 0; first++ {
				binary.LittleEndian.PutUint64(dst, shuffleKey(seed, first))
				copy(dst[ShuffleKeyBytes:], recs[:recordSize])
				dst, recs = dst[size:], recs[recordSize:]
			}
		},
	}
}

// shuffleKey decides where the record of an index goes.
func shuffleKey(seed uint64, index int64) uint64 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	binary.LittleEndian.PutUint64(b[8:], uint64(index))
	return xxh3.Hash(b[:])
}

// shuffleSample is keys of records from places spread evenly, without reading any; of a stream those of the first.
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

// Remade is a dataset whose records are made as they are read. The first one has an index among all.
func Remade(d Dataset, m *Remaking, first int64) Dataset {
	return &remade{m, d, Wrapped(d, func(src device.Source, before int64) device.Source {
		return &remadeSource{Source: src, m: m, base: first + before}
	})}
}

type remade struct {
	m    *Remaking
	read Dataset
	Dataset
}

// Sample is of the keys of the records that are made.
func (r *remade) Sample(ctx context.Context, _ *format.Keyer, n int) (plan.Sample, error) {
	return r.m.sample(ctx, r.read, n)
}

// remadeSource makes records of those of a source, whose first one has the index base.
type remadeSource struct {
	device.Source
	m    *Remaking
	base int64
	read sync.Pool
}

func (s *remadeSource) ReadAhead(ctx context.Context, maxBytes int64) {
	input.ReadAhead(ctx, s.Source, maxBytes/int64(s.m.Layout.RecordSize)*int64(s.m.from))
}

func (s *remadeSource) Next(most int, place func(first int64, n int) []byte) (int64, int, error) {
	buf, _ := s.read.Get().(*[plan.RemadeBytes]byte)
	if buf == nil {
		buf = new([plan.RemadeBytes]byte)
	}
	defer s.read.Put(buf)
	read, made := buf[:], []byte(nil)
	if s.m.from > len(read) {
		read = make([]byte, s.m.from)
	}
	first, n, err := s.Source.Next(min(most, len(read)/s.m.from), func(first int64, n int) []byte {
		made = place(first, n)
		return read[:n*s.m.from]
	})
	if end := s.base + first + int64(n); err == nil && s.m.MaxRecords > 0 && end > s.m.MaxRecords {
		return first, 0, fmt.Errorf("there are more than %d records: use 8-byte indexes (u64)", s.m.MaxRecords)
	}
	if n > 0 && err == nil {
		s.m.fill(made, read[:n*s.m.from], s.base+first)
	}
	return first, n, err
}
