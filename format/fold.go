package format

import (
	"cmp"
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/internal/option"
)

// countName is the name of the appended number of records.
const countName = "count"

// A foldStep combines the values of one field.
type foldStep struct {
	kind  foldKind
	text  string // as the user wrote it, for messages
	wider string // the text of an appended sum, without its type, for messages
	from  Column // field in the records to combine
	to    Column // field in the result
	field Field  // how values of from are ordered
	keyer *Keyer // compares single values; set only for foldMin and foldMax
	// hasNaT is set if the least value of a sum is NaT. The sum of NaT and any other value is NaT,
	// as in NumPy.
	hasNaT bool
	value  piece // loads integers of at most 8 bytes
}

func newFoldStep(a *aggregate, layout Layout) foldStep {
	s := foldStep{
		kind:  a.kind,
		text:  a.text,
		wider: cmp.Or(a.name, "NAME") + "=" + a.field,
		from:  a.source,
		to:    a.result,
	}
	s.setValue()
	s.hasNaT = a.kind == foldSum && a.source.hasNaT()
	s.field = Field{Type: a.source.Type, NaT: a.source.hasNaT()}
	if len(layout.Key) > 0 { // all fields have the same order of NaNs
		s.field.NaN = layout.Key[0].NaN
		s.field.Numeric = layout.Key[0].Numeric
	}
	if a.kind == foldMin || a.kind == foldMax {
		s.keyer, _ = NewKeyer(Layout{RecordSize: s.field.Type.Size, Key: []Field{s.field}}) // the type is valid
	}
	return s
}

// setValue prepares for loading the integers of the field.
func (s *foldStep) setValue() {
	if t := s.from.Type; t.isInteger() && t.Size <= 8 {
		s.value = newPiece(Field{Type: t}, 0, t.Size)
	}
}

func (s *foldStep) isFloatSum() bool { return s.kind == foldSum && s.from.Type.IsFloat() }

// A Fold combines records with equal keys, in their order. The zero value is not usable.
type Fold struct {
	g       *Aggregation
	records int64
	kept    []byte   // the record that is kept
	values  [][]byte // the value of each step so far, unless it is a sum
	sums    []sum    // the sum of each step so far
}

// NewFold returns a Fold without records.
func (g *Aggregation) NewFold() *Fold {
	f := &Fold{
		g:      g,
		kept:   make([]byte, 0, g.keyer.Layout().RecordSize),
		values: make([][]byte, len(g.steps)),
		sums:   make([]sum, len(g.steps)),
	}
	for i := range g.steps {
		f.values[i] = make([]byte, 0, g.steps[i].from.Type.Size)
	}
	return f
}

// Reset removes all records.
func (f *Fold) Reset() { f.records = 0 }

// Records returns the number of records that the Fold has combined.
func (f *Fold) Records() int64 { return f.records }

// Kept returns the record that is kept. Its key is the key of all records.
func (f *Fold) Kept() []byte { return f.kept }

// Add adds records, which must all have the same key, in their order.
func (f *Fold) Add(recs []byte) {
	size := f.g.keyer.Layout().RecordSize
	if len(recs) == 0 {
		return
	}
	if f.records == 0 {
		f.begin(recs[:size])
		recs = recs[size:]
		if len(recs) == 0 {
			return
		}
	}
	for i := range f.g.steps {
		f.step(i, recs, size)
	}
	if f.g.keepLast {
		f.kept = append(f.kept[:0], recs[len(recs)-size:]...)
	}
	f.records += int64(len(recs) / size)
}

// begin sets the state to that of a Fold with one record.
func (f *Fold) begin(rec []byte) {
	f.records = 1
	f.kept = append(f.kept[:0], rec...)
	for i := range f.g.steps {
		s := &f.g.steps[i]
		switch s.kind {
		case foldSum:
			f.sums[i] = s.load(rec[s.from.Offset:])
		case foldCount:
			f.sums[i] = sum{low: 1}
		default:
			f.values[i] = append(f.values[i][:0], rec[s.from.Offset:s.from.end()]...)
		}
	}
}

// step adds records to the value of step i.
func (f *Fold) step(i int, recs []byte, size int) {
	s := &f.g.steps[i]
	switch s.kind {
	case foldSum:
		f.sums[i].addAll(s, recs, size)
	case foldCount:
		f.sums[i].add(sum{low: uint64(len(recs) / size)})
	case foldMin, foldMax:
		if at := s.best(f.values[i], recs, size); at >= 0 {
			f.values[i] = append(f.values[i][:0], recs[at+s.from.Offset:at+s.from.end()]...)
		}
	case foldLast:
		last := recs[len(recs)-size:]
		f.values[i] = append(f.values[i][:0], last[s.from.Offset:s.from.end()]...)
	case foldFirst:
	}
}

// best returns the offset of the record with the best value, or of the first one if several are
// equal. It returns -1 if no value is better than present.
func (s *foldStep) best(present, recs []byte, size int) int {
	best := -1
	if len(s.keyer.pieces) == 1 {
		p := &s.keyer.pieces[0]
		bestSoFar := p.value(present)
		for at := 0; at < len(recs); at += size {
			v := p.value(recs[at+s.from.Offset : at+s.from.end()])
			if v < bestSoFar && s.kind == foldMin || v > bestSoFar && s.kind == foldMax {
				bestSoFar = v
				best = at
			}
		}
		return best
	}

	for at := 0; at < len(recs); at += size {
		v := recs[at+s.from.Offset : at+s.from.end()]
		order := s.keyer.Compare(v, present)
		if order < 0 && s.kind == foldMin || order > 0 && s.kind == foldMax {
			present = v
			best = at
		}
	}
	return best
}

// Join adds the records of another Fold, which come after those of f. REQUIRES: InAnyGrouping; both
// Folds have records, and all of these have the same key
func (f *Fold) Join(other *Fold) {
	for i := range f.g.steps {
		s := &f.g.steps[i]
		switch s.kind {
		case foldSum, foldCount:
			f.sums[i].add(other.sums[i])
		case foldMin, foldMax:
			order := s.keyer.Compare(other.values[i], f.values[i])
			if order < 0 && s.kind == foldMin || order > 0 && s.kind == foldMax {
				f.values[i] = append(f.values[i][:0], other.values[i]...)
			}
		case foldLast:
			f.values[i] = append(f.values[i][:0], other.values[i]...)
		case foldFirst:
		}
	}
	if f.g.keepLast {
		f.kept = append(f.kept[:0], other.kept...)
	}
	f.records += other.records
}

// Fits reports whether every sum fits its result.
func (f *Fold) Fits() bool { return f.firstOverflow(nil) < 0 }

// FitsWith reports whether every sum fits its result after Join.
func (f *Fold) FitsWith(other *Fold) bool { return f.firstOverflow(other) < 0 }

// firstOverflow returns the first step whose sum does not fit its result, or -1 if all fit. If
// other is not nil, its sums are added first.
func (f *Fold) firstOverflow(other *Fold) int {
	for i := range f.g.steps {
		s := &f.g.steps[i]
		if s.kind != foldSum || s.isFloatSum() {
			continue
		}
		total := f.sums[i]
		if other != nil {
			total.add(other.sums[i])
		}
		if !total.fits(s.to.Type) || s.hasNaT && !total.isNaT && total.isLeast() {
			return i
		}
	}
	return -1
}

// AppendResult appends the result to dst. If a sum does not fit, it returns an error that says what
// to do. The appended bytes are then invalid.
func (f *Fold) AppendResult(dst []byte) ([]byte, error) {
	start := len(dst)
	dst = append(dst, f.kept...)
	dst = append(dst, make([]byte, f.g.size-len(f.kept))...)
	result := dst[start:]
	for i := range f.g.steps {
		s := &f.g.steps[i]
		to := result[s.to.Offset:s.to.end()]
		switch s.kind {
		case foldSum, foldCount:
			if f.records == 1 && s.kind == foldSum && s.from.Type == s.to.Type {
				copy(to, f.kept[s.from.Offset:]) // a NaN stays as it is
				continue
			}
			f.sums[i].put(s, to)
		default:
			copy(to, f.values[i])
		}
	}
	if i := f.firstOverflow(nil); i >= 0 {
		return dst, f.overflow(i)
	}
	return dst, nil
}

// overflow returns the error for a sum that does not fit its result.
func (f *Fold) overflow(i int) error {
	s := &f.g.steps[i]
	key := f.g.keyer.Layout().KeyText(f.g.keyer.Append(nil, f.kept))
	advice := ""
	if wider := s.to.Type.wider(); wider != "" && !s.hasNaT {
		advice = fmt.Sprintf(": %v %s:%s appends a wider sum", option.Sum, s.wider, wider)
	}
	return option.Errorf(option.Sum, " %s: key %s has the total %s, which does not fit %v%s",
		s.text, key, humanize.BigComma(f.sums[i].number()), s.to.Type, advice)
}

// wider returns the name of an integer type with more bits, or "".
func (t Type) wider() string {
	letter := map[Kind]string{Unsigned: "u", Signed: "i"}[t.Kind]
	switch {
	case letter == "" || t.Size >= 16:
		return ""
	case t.Size >= 8:
		return letter + "128"
	}
	return letter + "64"
}
