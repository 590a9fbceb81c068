package input

import (
	"fmt"
	"math/bits"
)

// Part is the K-th of N parts, counted from 0. The zero Part is everything.
type Part struct{ K, N int64 }

func (p Part) String() string { return fmt.Sprintf("%d/%d", p.K, p.N) }

// Validate reports a part that is none of N.
func (p Part) Validate() error {
	if p == (Part{}) || 0 <= p.K && p.K < p.N {
		return nil
	}
	return fmt.Errorf("part %v: want K/N, the K-th of N parts, with K from 0 to N-1", p)
}

// Of is where the part begins and ends among so many records: parts differ by one record at most. REQUIRES: valid
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

// Slice leaves of the inputs the records of a part of all of them, by position, and tells how many come before it.
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

// Total is the number of records of inputs from which a part can be taken; else an error.
func Total(inputs []*Input) (records int64, err error) {
	for _, in := range inputs {
		switch {
		case in.Replaced:
			return 0, fmt.Errorf("part: %s is both an input and the output, and a part would replace all of "+
				"it: name another output", in.Name)
		case !in.Seekable():
			return 0, fmt.Errorf("part: %s cannot be read at an offset (compressed, a pipe, or unreadable): "+
				"write it to a plain file first", in.Name)
		}
		records += in.Records
	}
	return records, nil
}

// Slice leaves the records from one index to before another. REQUIRES: Seekable
func (in *Input) Slice(from, to int64) { in.First, in.Records = in.First+from, to-from }
