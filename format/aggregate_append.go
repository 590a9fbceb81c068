package format

import "slices"

// AppendsEarly reports whether the appended results can be put after each record before the sort, so
// that equal keys can be combined early. Every value of a field must fit its appended sum.
func (g *Aggregation) AppendsEarly() bool {
	if len(g.appended) == 0 || !g.InAnyGrouping() {
		return false
	}
	return !slices.ContainsFunc(g.steps, func(s foldStep) bool {
		return s.kind == foldSum && !s.to.Type.holds(s.from.Type)
	})
}

// holds reports whether the values of an integer type are also values of t.
func (t Type) holds(values Type) bool {
	switch {
	case t.Kind == values.Kind:
		return t.Size >= values.Size
	case t.Kind == Signed:
		return t.Size > values.Size
	}
	return false
}

// AppendEarly returns an Aggregation of records with appended results, which CombinesRuns, and a
// function that appends to each record its results as if it were the only one with its key:
//
//	key 7 │ value 5     ─▶  key 7 │ value 5 │ total 5 │ count 1
//	key 7 │ value 2     ─▶  key 7 │ value 2 │ total 2 │ count 1
//	                combined: key 7 │ value 5 │ total 7 │ count 2
//
// Combining such records gives the same results. REQUIRES: AppendsEarly
func (g *Aggregation) AppendEarly() (longer *Aggregation, appendTo func(dst, recs []byte), err error) {
	layout := g.keyer.Layout()
	layout.RecordSize = g.size
	keyer, err := NewKeyer(layout)
	if err != nil {
		return nil, nil, err
	}
	longer = &Aggregation{keyer: keyer, keepLast: g.keepLast, size: g.size}
	for _, s := range g.steps {
		if s.kind == foldCount {
			s.kind = foldSum
		}
		s.from = s.to
		s.setValue()
		longer.steps = append(longer.steps, s)
	}

	first := &firstResults{size: g.keyer.Layout().RecordSize, longer: g.size}
	for _, s := range g.steps {
		if s.to.Offset >= first.size {
			first.steps = append(first.steps, s)
		}
	}
	return longer, first.append, nil
}

// firstResults appends results of single records.
type firstResults struct {
	size   int        // of a record in bytes
	longer int        // of a record with its results in bytes
	steps  []foldStep // of the appended results
}

// append copies records to dst, each followed by its results.
func (f *firstResults) append(dst, recs []byte) {
	for ; len(recs) > 0; recs = recs[f.size:] {
		copy(dst, recs[:f.size])
		for i := range f.steps {
			s := &f.steps[i]
			to := dst[s.to.Offset:s.to.end()]
			switch {
			case s.kind == foldCount:
				one := sum{low: 1}
				one.put(s, to)
			case s.kind == foldSum && s.from.Type != s.to.Type:
				value := s.load(recs[s.from.Offset:])
				value.put(s, to)
			default:
				copy(to, recs[s.from.Offset:s.from.end()])
			}
		}
		dst = dst[f.longer:]
	}
}
