package input

import (
	"fmt"
	"math/bits"
)

// A Part is the K-th of N parts, counted from 0. The zero Part means everything.
type Part struct{ K, N int64 }

func (p Part) String() string { return fmt.Sprintf("%d/%d", p.K, p.N) }

// Validate returns an error if the part is not one of N.
func (p Part) Validate() error {
	if p == (Part{}) || 0 <= p.K && p.K < p.N {
		return nil
	}
	return fmt.Errorf("part %v: want K/N, the K-th of N parts, with K from 0 to N-1", p)
}

// Of returns the range of a part of the given number of records. The sizes of parts differ by at
// most one record. REQUIRES: the part is valid
func (p Part) Of(records int64) (from, to int64) {
	if p.N == 0 {
		return 0, records
	}
	cut := func(k int64) int64 {
		high, low := bits.Mul64(uint64(records), uint64(k))
		at, _ := bits.Div64(high, low, uint64(p.N))
		return int64(at)
	}
	return cut(p.K), cut(p.K + 1)
}

// Slice restricts the inputs to a part of all their records, by position. It returns the number
// of records before the part.
func (p Part) Slice(inputs []*Input) (before int64, err error) {
	total, err := Total(inputs)
	if err != nil {
		return 0, err
	}
	from, to := p.Of(total)
	first := int64(0)
	for _, in := range inputs {
		n := in.Records
		in.Slice(min(max(from-first, 0), n), min(max(to-first, 0), n))
		first += n
	}

	return from, nil
}

// Total returns the number of records of the inputs, or an error if they cannot be divided into
// parts.
func Total(inputs []*Input) (records int64, err error) {
	for _, in := range inputs {
		switch {
		case in.Replaced:
			return 0, fmt.Errorf(
				"part: %s is both an input and the output, and a part would replace all of "+
					"it: name another output",
				in.Name,
			)
		case !in.Seekable():
			return 0, fmt.Errorf(
				"part: %s cannot be read at an offset (compressed, a pipe, or unreadable): "+
					"write it to a plain file first",
				in.Name,
			)
		}
		records += in.Records
	}

	return records, nil
}

// Slice restricts the input to the records from index from (inclusive) to to (exclusive).
// REQUIRES: Seekable
func (in *Input) Slice(from, to int64) {
	in.First += from
	in.Records = to - from
}
