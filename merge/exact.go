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

// Sorted is a sorted input with random access to its records.
type Sorted struct {
	Records     int64
	ReadRecords func(p []byte, first int64) error // fills p with the records from index first on
}

// Within returns the records from index low to high (exclusive) as an input for searches that
// read single records. It caches the last page of records it read. A binary search converges, so
// the last page usually serves the rest of it. REQUIRES: page > 0
func (in Sorted) Within(low, high, page int64) Sorted {
	var lock sync.Mutex
	var kept []byte
	from := low
	page = min(page, high-low)
	return Sorted{high - low, func(p []byte, at int64) error {
		lock.Lock()
		defer lock.Unlock()

		at += low

		size := int64(len(p))
		if at < from ||
			(at-from+1)*size > int64(len(kept)) {
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

// concurrentCuts is the number of cuts searched concurrently. A search spends its time waiting
// for one record after another.
const concurrentCuts = 64

// Cuts returns, for each rank, how many records of each input are among the first rank records in
// the order (key, input, position). These numbers always add up to the rank, even if an input is
// not sorted. If wholeKeys is set, each cut moves forward to where the next key begins. A cut
// depends only on its rank, so independent processes find the same one.
func Cuts(
	ctx context.Context,
	k *format.Keyer,
	inputs []Sorted,
	ranks []int64,
	wholeKeys bool,
) ([][]int64, error) {
	cuts := make([][]int64, len(ranks))
	group, ctx := safely.WithContext(ctx)
	group.SetLimit(concurrentCuts)

	for i, rank := range ranks {
		group.Go(func() (err error) {
			s := &selection{
				ctx:    ctx,
				keyer:  k,
				inputs: inputs,
				left:   rank,
			}
			if cuts[i], err = s.cut(); err == nil && wholeKeys {
				err = s.passEqual(cuts[i])
			}
			return err
		})
	}

	return cuts, group.Wait()
}

// A selection searches for one cut. In each input, records below low are before the cut, and
// records from high on are after it. The probe of an input is the record in the middle of the
// undecided range.
//
// Each step decides one probe. If more records must come before the cut than lie below all
// probes, the least probe is before the cut. Otherwise the greatest probe is after it. Either
// way, reading one record halves the undecided range of its input, so a cut of k inputs of n
// records takes about k·log2(n) reads. (Frederickson and Johnson, "The complexity of selection
// and ranking in X+Y and matrices with sorted columns", 1982, select in sorted columns; Varman et
// al., 1991, cut runs in rounds of ever finer samples.)
type selection struct {
	ctx       context.Context
	keyer     *format.Keyer
	inputs    []Sorted
	low, high []int64
	// left is the number of records before the cut that low does not account for yet.
	left int64
	// below is the number of undecided records that are below the probe of their own input.
	below int64
	// probes holds the probes of the inputs with undecided records, in ascending order.
	probes []probe
}

// A probe is one record of an input.
type probe struct {
	key   []byte
	input int
	at    int64
}

// cut returns the cut that has s.left records before it. REQUIRES: the inputs have at least
// s.left records
func (s *selection) cut() ([]int64, error) {
	s.low = make([]int64, len(s.inputs))
	s.high = make([]int64, len(s.inputs))
	all := int64(0)

	for i, in := range s.inputs {
		s.high[i] = in.Records
		all += in.Records
	}

	if s.left == all {
		return s.high, nil
	}
	for i := range s.inputs {
		if err := s.addProbe(i); err != nil {
			return nil, err
		}
	}

	for s.left > 0 {
		if err := s.addProbe(s.halve()); err != nil {
			return nil, err
		}
	}

	return s.low, nil
}

// halve decides on which side of the cut one probe lies, removes it, and returns its input.
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

// addProbe reads the middle record of the undecided range of an input, if the range is not empty.
func (s *selection) addProbe(input int) error {
	low := s.low[input]
	high := s.high[input]
	if s.left == 0 || low == high {
		return nil
	}
	p := probe{input: input, at: low + (high-low)/2}
	var err error
	if p.key, err = s.key(input, p.at); err != nil {
		return err
	}
	at, _ := slices.BinarySearchFunc(s.probes, p, func(a, b probe) int {
		return cmp.Or(
			bytes.Compare(a.key, b.key), cmp.Compare(a.input, b.input),
		)
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

// passEqual moves a cut forward, past all records whose key equals that of the last record before
// the cut.
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
		low := cut[i]
		high := s.inputs[i].Records
		// usually there is nothing to pass
		for at := low; last != nil && low < high; at = low + (high-low)/2 {
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

// CheckCut returns a DisorderError if an input is out of order exactly at its cut. The merge of
// the records after a cut cannot notice this, because it does not read the record before the cut.
func CheckCut(
	ctx context.Context,
	k *format.Keyer,
	inputs []Sorted,
	cut []int64,
) error {
	s := &selection{
		ctx:    ctx,
		keyer:  k,
		inputs: inputs,
	}
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
