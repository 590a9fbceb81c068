package format

import "math/bits"

// A Measure is the part of a result that depends on the values of all records of a key: a sum, a
// least or a greatest value. Its Keyer normalizes the value of a record (Keyer.Prefix).
type Measure struct {
	Keyer *Keyer
	Kind  MeasureKind
}

// A MeasureKind says how the normalized values of a Measure are combined.
type MeasureKind int

// The kinds of measures.
const (
	MeasureSum      MeasureKind = iota // the sum, in 128 bits
	MeasureLeast                       // the least value
	MeasureGreatest                    // the greatest value
)

// A Total is the value of a Measure: High and Low of a sum, or Low alone.
type Total struct{ High, Low uint64 }

// Measures returns the Measures of the Aggregation, if its results do not depend on the order of
// the values: these are integers of at most 8 bytes. ok is false if they do.
func (g *Aggregation) Measures() (all []Measure, ok bool) {
	kinds := map[foldKind]MeasureKind{foldSum: MeasureSum, foldMin: MeasureLeast, foldMax: MeasureGreatest}
	for i := range g.steps {
		s := &g.steps[i]
		kind, isMeasure := kinds[s.kind]
		if !isMeasure {
			continue
		}
		if !s.from.Type.isInteger() || s.from.Type.Size > 8 {
			return nil, false
		}
		field := s.field
		field.Offset = s.from.Offset
		if kind == MeasureSum {
			field = Field{Offset: s.from.Offset, Type: s.from.Type}
		}
		keyer, err := NewKeyer(Layout{RecordSize: g.keyer.Layout().RecordSize, Key: []Field{field}})
		if err != nil {
			return nil, false
		}
		all = append(all, Measure{Keyer: keyer, Kind: kind})
		if s.hasNaT { // NaT is the least value
			all = append(all, Measure{Keyer: keyer, Kind: MeasureLeast})
		}
	}
	return all, true
}

// NeedsFirst reports whether a result contains bytes of the first record of its key.
func (g *Aggregation) NeedsFirst() bool { return !g.keepLast || g.hasStep(foldFirst) }

// NeedsLast reports whether a result contains bytes of the last record of its key.
func (g *Aggregation) NeedsLast() bool { return g.keepLast || g.hasStep(foldLast) }

// SetTotals sets the state of f to that after adding a number of records, of which first is the
// first one and last the last one. totals are the values of the Measures. A record that is not
// needed may be nil. REQUIRES: Measures returns true
func (f *Fold) SetTotals(records int64, first, last []byte, totals []Total) {
	f.records = records
	kept := first
	if f.g.keepLast {
		kept = last
	}
	f.kept = append(f.kept[:0], kept...)
	for i := range f.g.steps {
		s := &f.g.steps[i]
		switch s.kind {
		case foldCount:
			f.sums[i] = sum{low: uint64(records)}
		case foldFirst:
			f.values[i] = append(f.values[i][:0], first[s.from.Offset:s.from.end()]...)
		case foldLast:
			f.values[i] = append(f.values[i][:0], last[s.from.Offset:s.from.end()]...)
		case foldSum:
			f.sums[i] = totals[0].sum(s.from.Type, records)
			totals = totals[1:]
			if s.hasNaT {
				f.sums[i].isNaT = totals[0].Low == 0
				totals = totals[1:]
			}
		case foldMin, foldMax:
			f.values[i] = f.values[i][:s.from.Type.Size]
			s.keyer.Records(f.values[i], []uint64{totals[0].Low})
			totals = totals[1:]
		}
	}
}

// sum returns the sum of integers from the sum of their normalized values. The normalized value of
// a signed integer is greater by 2^(bits-1).
func (t Total) sum(of Type, records int64) sum {
	n := sum{low: t.Low, middle: t.High}
	if of.Kind != Signed {
		return n
	}
	high, low := bits.Mul64(uint64(records), 1<<(8*of.Size-1))
	var borrow uint64
	n.low, borrow = bits.Sub64(n.low, low, 0)
	n.middle, borrow = bits.Sub64(n.middle, high, borrow)
	n.high -= borrow
	return n
}
