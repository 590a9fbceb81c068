package merge

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// Sorted is a sorted input of which any record can be read.
type Sorted struct {
	Records     int64
	ReadRecords func(p []byte, first int64) error // fills p with records from index first on
}

// Within is the input from record low to before high, to be read one by one. It keeps the page that was read last: a
// search comes closer and closer to its end, so that a page that has all of it is the only one. REQUIRES: page > 0
func (in Sorted) Within(low, high, page int64) Sorted {
	var lock sync.Mutex
	var kept []byte
	from := low
	page = min(page, high-low)
	return Sorted{high - low, func(p []byte, at int64) error {
		lock.Lock()
		defer lock.Unlock()
		at += low
		if size := int64(len(p)); at < from || (at-from+1)*size > int64(len(kept)) {
			kept = slices.Grow(kept[:0], int(page*size))[:page*size]
			from = min(max(at-page/2, low), high-page)
			if err := in.ReadRecords(kept, from); err != nil {
				kept = nil
				return err
			}
		}
		copy(p, kept[(at-from)*int64(len(p)):])
		return nil
	}}
}

// cutsAtOnce is how many cuts are searched at the same time: each waits for one record after the other.
const cutsAtOnce = 64

// Cuts tells for each rank how many records of each input are among so many first ones in the order (key, input,
// position). Together they are exactly as many, also where an input is not sorted. wholeKeys: a cut moves on to
// where the next key begins. A cut depends on its rank alone, so that everybody finds the same.
func Cuts(ctx context.Context, k *format.Keyer, inputs []Sorted, ranks []int64, wholeKeys bool) ([][]int64, error) {
	cuts := make([][]int64, len(ranks))
	group, ctx := safely.WithContext(ctx)
	group.SetLimit(cutsAtOnce)
	for i, rank := range ranks {
		group.Go(func() (err error) {
			s := &selection{ctx: ctx, keyer: k, inputs: inputs, left: rank}
			if cuts[i], err = s.cut(); err == nil && wholeKeys {
				err = s.passEqual(cuts[i])
			}
			return err
		})
	}
	return cuts, group.Wait()
}

// selection is the search for one cut. Of each input the records below low are before the cut, those from high on are
// behind it. A probe is the middle of what is between. Where more records are to come before the cut than there are
// below all probes, the least probe is one of them; else the greatest is none. Either way one record that is read
// settles half of what is left of its input, so that a cut of k inputs of n records takes about k·log2(n) of them.
// (Frederickson and Johnson, "The complexity of selection and ranking in X+Y and matrices with sorted columns", 1982,
// select in sorted columns; Varman et al. 1991 cut runs in rounds of finer and finer samples.)
type selection struct {
	ctx       context.Context
	keyer     *format.Keyer
	inputs    []Sorted
	low, high []int64
	left      int64   // records that are before the cut, and not below low
	below     int64   // records from low on that are below the probe of their own input
	probes    []probe // rising, of the inputs of which something is between
}

// probe is one record of an input.
type probe struct {
	key   []byte
	input int
	at    int64
}

// cut finds the cut that has left records before it. REQUIRES: there are as many
func (s *selection) cut() ([]int64, error) {
	s.low, s.high = make([]int64, len(s.inputs)), make([]int64, len(s.inputs))
	all := int64(0)
	for i, in := range s.inputs {
		s.high[i] = in.Records
		all += in.Records
	}
	if s.left == all {
		return s.high, nil
	}
	for i := range s.inputs {
		if err := s.probe(i); err != nil {
			return nil, err
		}
	}
	for s.left > 0 {
		if err := s.probe(s.halve()); err != nil {
			return nil, err
		}
	}
	return s.low, nil
}

// halve decides on which side of the cut a probe is, and tells of which input that was.
func (s *selection) halve() (input int) {
	before := s.left > s.below
	at := len(s.probes) - 1
	if before {
		at = 0
	}
	p := s.probes[at]
	s.probes = slices.Delete(s.probes, at, at+1)
	s.below -= p.at - s.low[p.input]
	if before {
		s.left -= p.at + 1 - s.low[p.input]
		s.low[p.input] = p.at + 1
	} else {
		s.high[p.input] = p.at
	}
	return p.input
}

// probe reads the record in the middle of what is between of an input, if there is any.
func (s *selection) probe(input int) error {
	low, high := s.low[input], s.high[input]
	if s.left == 0 || low == high {
		return nil
	}
	p := probe{input: input, at: low + (high-low)/2}
	var err error
	if p.key, err = s.key(input, p.at); err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(s.probes, p, func(a, b probe) int {
		return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.input, b.input))
	})
	s.probes = slices.Insert(s.probes, at, p)
	s.below += p.at - low
	return nil
}

func (s *selection) key(input int, at int64) ([]byte, error) {
	if s.ctx.Err() != nil {
		return nil, context.Cause(s.ctx)
	}
	record := make([]byte, s.keyer.Layout().RecordSize)
	err := s.inputs[input].ReadRecords(record, at)
	return s.keyer.Append(nil, record), err
}

// passEqual moves a cut behind all records whose key is that of the last record before it.
func (s *selection) passEqual(cut []int64) error {
	var last []byte
	for i, at := range cut {
		if at == 0 {
			continue
		}
		key, err := s.key(i, at-1)
		if err != nil {
			return err
		}
		if bytes.Compare(key, last) > 0 {
			last = key
		}
	}
	for i := range cut {
		low, high := cut[i], s.inputs[i].Records
		for at := low; last != nil && low < high; at = low + (high-low)/2 { // mostly there is nothing to pass
			key, err := s.key(i, at)
			if err != nil {
				return err
			}
			if bytes.Compare(key, last) <= 0 {
				low = at + 1
			} else {
				high = at
			}
		}
		cut[i] = low
	}
	return nil
}

// CheckCut makes sure that each input is in order where it is cut: who merges what is behind the cut does not see what
// is before it.
func CheckCut(ctx context.Context, k *format.Keyer, inputs []Sorted, cut []int64) error {
	s := &selection{ctx: ctx, keyer: k, inputs: inputs}
	for i, at := range cut {
		if at == 0 || at == inputs[i].Records {
			continue
		}
		before, err := s.key(i, at-1)
		if err != nil {
			return err
		}
		key, err := s.key(i, at)
		if err != nil {
			return err
		}
		if bytes.Compare(before, key) > 0 {
			return &DisorderError{i, at, key, before}
		}
	}
	return nil
}
