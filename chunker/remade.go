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

// A Remaking transforms records as they are read. Each new record is made from a record and its
// index in the input.
type Remaking struct {
	Layout     format.Layout // layout of the new records
	MaxRecords int64         // maximum number of records that an index can count; 0 means no limit

	// size of an original record in bytes
	from int
	// transforms recs, the records from index first on
	fill func(dst, recs []byte, first int64)
	// samples the keys of the new records
	sample func(ctx context.Context, d Dataset, n int) (plan.Sample, error)
}

// Indexed returns a Remaking to records that consist of the key of each record and its index,
// which is a little-endian integer of width bytes (4 or 8).
//
//	key fields, concatenated │ index
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
	m.sample = func(ctx context.Context, d Dataset, n int) (plan.Sample, error) {
		return d.Sample(ctx, read, n)
	}
	m.fill = func(dst, recs []byte, first int64) {
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

// Shuffled returns a Remaking to records that sort to a random order, which depends only on the
// seed. It puts a hash of the seed and the index before each record. Two equal hashes are rare;
// they keep the order of the input.
//
//	hash: u64 │ record
func Shuffled(recordSize int, seed uint64) *Remaking {
	key := format.Field{Type: format.Type{
		Kind: format.Unsigned,
		Size: ShuffleKeyBytes,
	}}
	size := recordSize + ShuffleKeyBytes
	return &Remaking{
		Layout: format.Layout{RecordSize: size, Key: []format.Field{key}},
		from:   recordSize,
		sample: func(_ context.Context, d Dataset, n int) (plan.Sample, error) {
			return shuffleSample(d, n, seed)
		},
		fill: func(dst, recs []byte, first int64) {
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

// Remade returns a dataset whose records are transformed as they are read. The first record has
// the given index in the whole input.
func Remade(d Dataset, m *Remaking, first int64) Dataset {
	return &remade{m, d, Wrapped(d, func(src device.Source, before int64) device.Source {
		return &remadeSource{
			Source: src,
			m:      m,
			base:   first + before,
		}
	})}
}

type remade struct {
	m    *Remaking
	read Dataset
	Dataset
}

// Sample returns a sample of the keys of the new records.
func (r *remade) Sample(
	ctx context.Context, _ *format.Keyer, n int,
) (plan.Sample, error) {
	return r.m.sample(ctx, r.read, n)
}

// A remadeSource transforms the records of a source, whose first record has the index base.
type remadeSource struct {
	device.Source
	m    *Remaking
	base int64
	read sync.Pool
}

func (s *remadeSource) ReadAhead(ctx context.Context, maxBytes int64) {
	input.ReadAhead(
		ctx, s.Source, maxBytes/int64(s.m.Layout.RecordSize)*int64(s.m.from),
	)
}

func (s *remadeSource) Next(
	most int, place func(first int64, n int) []byte,
) (int64, int, error) {
	buf, _ := s.read.Get().(*[plan.TransformBytes]byte)
	if buf == nil {
		buf = new([plan.TransformBytes]byte)
	}
	defer s.read.Put(buf)

	read := buf[:]
	made := []byte(nil)
	if s.m.from > len(read) {
		read = make([]byte, s.m.from)
	}
	first, n, err := s.Source.Next(min(most, len(read)/s.m.from), func(first int64, n int) []byte {
		made = place(first, n)
		return read[:n*s.m.from]
	})
	end := s.base + first + int64(n)
	if err == nil && s.m.MaxRecords > 0 &&
		end > s.m.MaxRecords {
		return first, 0, fmt.Errorf(
			"there are more than %d records: use positions of type u64", s.m.MaxRecords,
		)
	}
	if n > 0 && err == nil {
		s.m.fill(made, read[:n*s.m.from], s.base+first)
	}
	return first, n, err
}
