package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
)

// An aggregate is a field that is combined in the records with equal keys.
type aggregate struct {
	how   string // sum, min, max, first or last
	name  string // name of the appended result; "": the result replaces the field
	field field
	sum   field // the result of a sum, which is appended
}

// aggregates says how the records with equal keys are combined.
type aggregates struct {
	fields    []aggregate
	keepsLast bool // the last record of each key is kept, not the first one
	counts    bool // the number of records is appended
}

// ways are the ways to combine fields, in the order of appended results.
var ways = []string{"sum", "min", "max", "first", "last"}

// chooseAggregates makes the output consist of one record for each key with combined fields.
func chooseAggregates(s *scenario, r *rand.Rand) {
	s.form = "aggregate"
	if !s.unique {
		s.unique = true
		s.flags = append(s.flags, "-u")
	}
	g := &s.aggregated
	if g.keepsLast = r.IntN(3) == 0; g.keepsLast {
		s.flags = append(s.flags, "--keep", "last")
	}
	for _, way := range ways {
		for range skewed(r, 0, 2) {
			if a, ok := randomAggregate(r, s, way); ok {
				g.fields = append(g.fields, a)
				s.flags = append(s.flags, "--"+way, a.String())
			}
		}
	}
	if g.counts = len(g.fields) == 0 || r.IntN(2) == 0; g.counts {
		s.flags = append(s.flags, "--count")
	}
}

// randomAggregate returns a random field. It returns false if the field does not fit the record.
func randomAggregate(r *rand.Rand, s *scenario, way string) (a aggregate, ok bool) {
	isInteger := func(f field) bool { return f.kind == 'u' || f.kind == 'i' }
	a = aggregate{how: way, field: numbers[r.IntN(len(numbers))]}
	if !isInteger(a.field) || a.field.size > s.layout.size {
		return a, false
	}
	a.field.big = a.field.size > 1 && r.IntN(2) == 0
	a.field.offset = r.IntN(s.layout.size - a.field.size + 1)
	if way == "sum" { // 16 bytes may be too few for a sum of 16 bytes
		a.sum = field{kind: a.field.kind, size: 16, big: r.IntN(2) == 0}
		a.name = fmt.Sprint("sum", len(s.aggregated.fields))
		return a, a.field.size < 16
	}
	overlaps := func(f field) bool {
		return f.offset < a.field.offset+a.field.size && a.field.offset < f.offset+f.size
	}
	isTaken := func(b aggregate) bool { return b.name == "" && overlaps(b.field) }
	inKey := slices.ContainsFunc(s.layout.fields, overlaps)
	if inKey || slices.ContainsFunc(s.aggregated.fields, isTaken) || r.IntN(2) == 0 {
		a.name = fmt.Sprint(way, len(s.aggregated.fields))
	}
	return a, true
}

// String returns the value of the flag.
func (a aggregate) String() string {
	text := fmt.Sprintf("%d:%s", a.field.offset, a.field.typeName())
	if a.name != "" {
		text = a.name + "=" + text
	}
	if a.how == "sum" {
		text += ":" + a.sum.typeName()
	}
	return text
}

// combined returns the result of records with the same key, in the order of the input.
func (g *aggregates) combined(records [][]byte) []byte {
	result := slices.Clone(records[0])
	if g.keepsLast {
		result = slices.Clone(records[len(records)-1])
	}
	for _, a := range g.fields {
		value := a.of(records)
		if a.name == "" {
			copy(result[a.field.offset:], value)
		} else {
			result = append(result, value...)
		}
	}
	if g.counts {
		result = binary.LittleEndian.AppendUint64(result, uint64(len(records)))
	}
	return result
}

// of returns the combined value of records.
func (a aggregate) of(records [][]byte) []byte {
	if a.how == "sum" {
		total := new(big.Int)
		for _, rec := range records {
			total.Add(total, a.field.number(rec))
		}
		return a.sum.bytes(total)
	}
	chosen := records[0]
	for _, rec := range records[1:] {
		order := compareKeys([]field{a.field}, rec, chosen)
		if a.how == "min" && order < 0 || a.how == "max" && order > 0 || a.how == "last" {
			chosen = rec
		}
	}
	return chosen[a.field.offset:][:a.field.size]
}

// number returns the value of an integer field.
func (f field) number(record []byte) *big.Int {
	digits := slices.Clone(record[f.offset:][:f.size])
	if !f.big {
		slices.Reverse(digits)
	}
	n := new(big.Int).SetBytes(digits)
	if f.kind == 'i' && digits[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*f.size)))
	}
	return n
}

// bytes returns the bytes of an integer.
func (f field) bytes(n *big.Int) []byte {
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*f.size)))
	}
	digits := n.FillBytes(make([]byte, f.size))
	if !f.big {
		slices.Reverse(digits)
	}
	return bytes.Clone(digits)
}
