package sorttest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/extsort/extsort/format"
)

// orders maps the name of each order of test data to a distribution of format.NewGenerator and a
// change to the generated records.
var orders = map[string]struct {
	distribution string
	change       func(d *data)
}{
	"random":        {"uniform", (*data).addSpecialFloats},
	"few":           {"few", nil},
	"equal":         {"equal", nil},
	"zipf":          {"zipf", nil},
	"sorted":        {"sorted", nil},
	"reversed":      {"reversed", nil},
	"nearly-sorted": {"nearly-sorted", nil},

	"one-swap-first":  {"sorted", func(d *data) { d.swap(0) }},
	"one-swap-middle": {"sorted", func(d *data) { d.swap(d.records()/2 + 7) }},
	"one-swap-last":   {"sorted", func(d *data) { d.swap(d.records() - 2) }},

	"floats":     {"uniform", (*data).addNumbers},
	"few-floats": {"uniform", (*data).addFewNumbers},

	"ends": {"uniform", (*data).setEnds},

	"shift-early": {"uniform", func(d *data) { d.shiftFrom(d.records() * 3 / 10) }},
	"shift-late":  {"uniform", func(d *data) { d.shiftFrom(d.records() * 8 / 10) }},

	"reversed-with-swap": {"reversed", func(d *data) { d.swap(d.records() - 2) }},
	"reversed-with-tie":  {"reversed", (*data).tie},
}

// data are records under construction.
type data struct {
	layout format.Layout
	recs   []byte
	r      *rand.Rand
}

// Make makes n records in an order. The bytes outside the key carry the position of the record, so
// that an unstable sort is noticed.
func Make(layout format.Layout, order string, n int, r *rand.Rand) ([]byte, error) {
	o, ok := orders[order]
	if !ok {
		return nil, fmt.Errorf("there is no order %q of records", order)
	}
	g, err := format.NewGenerator(layout, o.distribution, r.Uint64(), int64(n))
	if err != nil {
		return nil, err
	}
	d := &data{layout: layout, recs: make([]byte, n*layout.RecordSize), r: r}
	g.Fill(d.recs, 0)
	if o.change != nil {
		o.change(d)
	}
	d.stampPositions()
	return d.recs, nil
}

func (d *data) records() int { return len(d.recs) / d.layout.RecordSize }

func (d *data) record(i int) []byte {
	return d.recs[i*d.layout.RecordSize : (i+1)*d.layout.RecordSize]
}

// swap exchanges record i and the next one.
func (d *data) swap(i int) {
	if i < 0 || i+1 >= d.records() {
		return
	}
	first := slices.Clone(d.record(i))
	copy(d.record(i), d.record(i+1))
	copy(d.record(i+1), first)
}

// tie gives a record the key of the record before it.
func (d *data) tie() {
	if i := d.records() / 2; i > 0 {
		copy(d.record(i), d.record(i-1))
	}
}

// setEnds gives half of the records keys of only ones, or of only zeros.
func (d *data) setEnds() {
	for i := 0; i < d.records(); i += 2 {
		fill := byte(0xff)
		if i%4 == 0 {
			fill = 0
		}
		for _, f := range d.layout.Key {
			key := d.record(i)[f.Offset:][:f.Type.Size]
			for at := range key {
				key[at] = fill
			}
		}
	}
}

// shiftFrom makes the keys of the records from an index on larger than those before, in a narrow
// range. The first field must be a little-endian number.
func (d *data) shiftFrom(first int) {
	f := d.layout.Key[0]
	for i := range d.records() {
		key := d.record(i)[f.Offset:][:f.Type.Size]
		most := len(key) - 1
		if i < first {
			key[most] &= 0x7f
			continue
		}
		for at := most / 2; at < most; at++ {
			key[at] = 0
		}
		key[most] = 0xff
	}
}

// stampPositions writes the position of each record into its bytes outside the key.
func (d *data) stampPositions() {
	isKey := make([]bool, d.layout.RecordSize)
	for _, f := range d.layout.Key {
		for i := range f.Type.Size {
			isKey[f.Offset+i] = true
		}
	}
	for i := range d.records() {
		rec := d.record(i)
		position := i
		for at := range rec {
			if !isKey[at] {
				rec[at] = byte(position)
				position >>= 8
			}
		}
	}
}

// specialFloats are the values that a comparison by < puts in the wrong places.
var specialFloats = []float64{
	math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1),
	math.SmallestNonzeroFloat64, -math.MaxFloat64,
}

// addSpecialFloats writes a special value into about every fifth float of the key.
func (d *data) addSpecialFloats() {
	for _, f := range d.layout.Key {
		if f.Type.Kind != format.Float || f.Type.Size < 4 {
			continue
		}
		for at := f.Offset; at < len(d.recs); at += d.layout.RecordSize {
			if d.r.IntN(5) > 0 {
				continue
			}
			v := specialFloats[d.r.IntN(len(specialFloats))]
			if f.Type.Size == 8 { // also NaNs with payloads
				binary.LittleEndian.PutUint64(d.recs[at:], math.Float64bits(v)^d.r.Uint64N(2))
			} else {
				binary.LittleEndian.PutUint32(d.recs[at:], math.Float32bits(float32(v)))
			}
		}
	}
}
