package info

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/extsort/extsort/format"
)

// Scan describes the keys of the examined records.
type Scan struct {
	Records int64 `json:"records"` // number of examined records
	All     bool  `json:"all"`     // all records of the file were examined
	// If All is false: whether the first records were examined, or blocks from all parts.
	Start  bool `json:"start"`
	Sorted bool `json:"sorted"` // no record is less than the previous one
	// Not sorted, and no record is greater than the previous one.
	Reversed bool      `json:"reversed"`
	Disorder *Disorder `json:"disorder,omitempty"` // first disorder found; nil: sorted
	Min      string    `json:"min,omitempty"`      // first key in the order
	Max      string    `json:"max,omitempty"`      // last key in the order
	NaNs     int64     `json:"nans"`               // records with a NaN in the key

	EqualNeighbours int64 `json:"equal_neighbours"` // records whose key equals the previous one
	SampleKeys      int64 `json:"sample_keys"`      // keys in the sample, from all parts
	// Keys in the sample that equal another key before.
	SampleDuplicates int64 `json:"sample_duplicates"`

	// Of the first key field in the sample, without NaNs and infinities.
	Histogram []Bin `json:"histogram,omitempty"`
}

// Disorder is a record that is less than the one before it.
type Disorder struct {
	Record int64  `json:"record"` // from 0
	Byte   int64  `json:"byte"`   // position in the decompressed file
	Key    string `json:"key"`
	After  string `json:"after"` // key of the record before it
	// Record - 1, unless the records between were not examined.
	AfterRecord int64 `json:"after_record"`
}

const (
	wholeBytes = 8 << 20  // maximum file size for which all records are examined
	scanBlocks = 64       // blocks of a sample
	scanBytes  = 64 << 10 // bytes per block
	pieceBytes = 1 << 20  // bytes per read when all records are examined
)

// scan examines all records, or blocks from all parts.
func (l *inspection) scan(ctx context.Context) (*Scan, error) {
	s, err := newScanner(l.header)
	if err != nil {
		return nil, err
	}
	if l.src.reader != nil {
		err = l.scanBlocks(ctx, s)
	} else {
		err = l.scanStream(ctx, s)
	}
	return s.finish(), err
}

// scanBlocks examines blocks of a file with random access.
func (l *inspection) scanBlocks(ctx context.Context, s *scanner) error {
	size := int64(l.report.RecordSize)
	records := l.report.Records
	n := max(pieceBytes/size, 1)
	blocks := (records + n - 1) / n
	step := n
	if s.out.All = l.All || records*size <= wholeBytes; !s.out.All {
		n = max(scanBytes/size, 2)
		blocks = min(scanBlocks, records/n)
		step = (records - n) / (blocks - 1)
	}
	block := make([]byte, n*size)
	for i := range blocks {
		first := i * step
		if i == blocks-1 && !s.out.All {
			first = records - n
		}
		block = block[:min(n, records-first)*size]
		if err := l.readBlock(ctx, block, first); err != nil {
			return err
		}
		s.add(first, block)
	}
	return nil
}

func (l *inspection) readBlock(ctx context.Context, block []byte, first int64) error {
	ok, err := l.src.read(
		block, l.report.HeaderBytes+first*int64(l.report.RecordSize),
	)
	if err == nil && !ok {
		err = fmt.Errorf(
			"%s: it became shorter while it was being read", l.src.name,
		)
	}
	return cmp.Or(err, context.Cause(ctx))
}

// scanStream examines the records in the head of a stream and, if all are requested, the rest.
func (l *inspection) scanStream(ctx context.Context, s *scanner) error {
	size := int64(l.report.RecordSize)
	header := min(l.report.HeaderBytes, int64(len(l.src.head)))
	if s.out.Start = !l.All || l.src.rest == nil; s.out.Start {
		recs := l.src.head[header:]
		s.add(0, recs[:int64(len(recs))/size*size])
		return nil
	}
	r := io.MultiReader(bytes.NewReader(l.src.head[header:]), l.src.rest)
	block := make([]byte, max(pieceBytes/size, 1)*size)
	first := int64(0)
	for {
		n, err := io.ReadFull(r, block)
		whole := int64(n) / size
		s.add(first, block[:whole*size])
		if first += whole; err == io.EOF || err == io.ErrUnexpectedEOF {
			s.out.All = true
			l.setStreamSize(first, int64(n)%size)
			return nil
		}
		// The stream is truncated, or not compressed that way.
		if err != nil && l.src.codec != format.None && ctx.Err() == nil {
			l.noteProblem(err)
			return nil
		}
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
	}
}

// setStreamSize records the size of a stream that was read to its end.
func (l *inspection) setStreamSize(records, leftOver int64) {
	r := l.report
	r.Records = records
	r.LeftOver = leftOver
	r.DataBytes = r.HeaderBytes + records*int64(r.RecordSize) + leftOver
	_, err := format.CheckSize(l.src.name, l.header, r.DataBytes)
	l.noteProblem(err)
}

// A scanner collects a Scan.
type scanner struct {
	out    *Scan
	header *format.Header
	keyer  *format.Keyer
	layout format.Layout

	key, previousKey []byte // of the current record, and of the previous one
	beforeIndex      int64
	hasAscent        bool // a record was greater than the previous one
	least, most      []byte
	floats           []format.Field // of the key, by their positions in its normalized form
	sample           sample
}

func newScanner(h *format.Header) (*scanner, error) {
	layout := h.Layout()
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	s := &scanner{
		out:    &Scan{Sorted: true},
		header: h,
		keyer:  keyer,
		layout: layout,
		sample: newSample(keyer.KeySize()),
	}
	at := 0
	for _, f := range layout.Key {
		if f.HasNaNs() {
			f.Offset = at
			s.floats = append(s.floats, f)
		}
		at += f.Type.KeyBytes()
	}
	return s, nil
}

// add examines records; first is the index of the first one.
func (s *scanner) add(first int64, recs []byte) {
	size := s.layout.RecordSize
	for i := first; len(recs) > 0; i, recs = i+1, recs[size:] {
		s.key = s.keyer.Append(s.key[:0], recs[:size])
		s.compare(i)
		s.sample.add(s.key)
		for _, f := range s.floats {
			if f.IsNaN(s.key[f.Offset : f.Offset+f.Type.KeyBytes()]) {
				s.out.NaNs++
				break
			}
		}
		s.out.Records++
		s.key, s.previousKey, s.beforeIndex = s.previousKey, s.key, i
	}
}

// compare compares the key of record i with the previous key.
func (s *scanner) compare(i int64) {
	if s.out.Records == 0 {
		s.least, s.most = append(s.least, s.key...), append(s.most, s.key...)
		return
	}
	switch c := bytes.Compare(s.key, s.previousKey); {
	case c < 0:
		if s.out.Sorted {
			s.disorder(i)
		}
		if bytes.Compare(s.key, s.least) < 0 {
			s.least = append(s.least[:0], s.key...)
		}
	case c > 0:
		s.hasAscent = true
		if bytes.Compare(s.key, s.most) > 0 {
			s.most = append(s.most[:0], s.key...)
		}
	case i == s.beforeIndex+1:
		s.out.EqualNeighbours++
	}
}

func (s *scanner) disorder(i int64) {
	key, after, _ := s.layout.KeyTexts(s.key, s.previousKey)
	s.out.Sorted = false
	s.out.Disorder = &Disorder{
		Record: i, Byte: s.header.Size() + i*int64(
			s.layout.RecordSize,
		), Key: key, After: after, AfterRecord: s.beforeIndex,
	}
}

func (s *scanner) finish() *Scan {
	out := s.out
	if out.Records == 0 {
		return out
	}
	out.Reversed = !out.Sorted && !s.hasAscent
	out.Min, out.Max = s.layout.KeyText(s.least), s.layout.KeyText(s.most)
	out.SampleKeys, out.SampleDuplicates = int64(s.sample.len()), s.sample.duplicates()
	out.Histogram = histogram(s.layout.Key[0], &s.sample)
	return out
}

// Bin is the number of keys in a range of values. The upper end belongs to the next bin, except
// in the last one.
type Bin struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Count int64  `json:"count"`
}

const (
	maxBins        = 8
	maxSampleKeys  = 1 << 16
	maxSampleBytes = 8 << 20
)

// A sample contains every step-th key. When it is full, it drops every second one and doubles the
// step.
type sample struct {
	keySize, maxKeys int
	keys             []byte // one after another
	step, seen       int64
}

func newSample(keySize int) sample {
	most := max(min(maxSampleKeys, maxSampleBytes/keySize), 2)
	return sample{
		keySize: keySize,
		maxKeys: most,
		step:    1,
	}
}

func (s *sample) len() int { return len(s.keys) / s.keySize }

func (s *sample) key(i int) []byte {
	return s.keys[i*s.keySize : (i+1)*s.keySize]
}

func (s *sample) add(key []byte) {
	if s.seen%s.step == 0 && s.len() == s.maxKeys {
		kept := 0
		for i := 0; i < s.len(); i += 2 {
			copy(s.key(kept), s.key(i))
			kept++
		}
		s.keys = s.keys[:kept*s.keySize]
		s.step *= 2
	}
	if s.seen%s.step == 0 {
		s.keys = append(s.keys, key...)
	}
	s.seen++
}

// duplicates returns the number of keys that equal another key before them.
func (s *sample) duplicates() int64 {
	all := slices.SortedFunc(slices.Chunk(s.keys, s.keySize), bytes.Compare)
	return int64(s.len() - len(slices.CompactFunc(all, bytes.Equal)))
}

// histogram counts the values of field f, the first field of the key, in bins of equal width.
func histogram(f format.Field, s *sample) []Bin {
	values := make([]float64, 0, s.len())
	least := math.Inf(1)
	most := math.Inf(-1)
	for key := range slices.Chunk(s.keys, s.keySize) {
		if x := f.Number(key[:f.Type.KeyBytes()]); !math.IsNaN(x) &&
			!math.IsInf(x, 0) {
			values = append(values, x)
			least = min(least, x)
			most = max(most, x)
		}
	}
	if len(values) == 0 {
		return nil
	}
	edges := edgesOf(f.Type, least, most)
	counts := make([]int64, len(edges)-1)
	for _, x := range values {
		at, exact := slices.BinarySearch(edges, x)
		if !exact {
			at--
		}
		counts[max(min(at, len(counts)-1), 0)]++
	}
	bins := make([]Bin, len(counts))
	for i, n := range counts {
		bins[i] = Bin{
			From:  f.NumberText(edges[i]),
			To:    f.NumberText(edges[i+1]),
			Count: n,
		}
	}
	return bins
}

// edgesOf returns the edges of the bins for values from least to most. For integers, they are
// integers.
func edgesOf(t format.Type, least, most float64) []float64 {
	width := most/maxBins - least/maxBins // their difference may be too large for a float
	if !t.IsFloat() {
		width = max(math.Ceil(width), 1)
	}
	edges := []float64{least}
	for i := 1; i < maxBins && least+float64(i)*width < most; i++ {
		edges = append(edges, least+float64(i)*width)
	}
	return append(edges, most)
}
