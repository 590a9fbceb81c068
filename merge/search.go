package merge

import (
	"bytes"
	"slices"
	"sort"

	"github.com/extsort/extsort/format"
)

// A searcher finds where a splitter cuts a stretch. A splitter is a normalized key.
type searcher struct {
	keyer       *format.Keyer
	recordBytes int    // record size in bytes
	hasLongKey  bool   // whether the key is longer than its prefix
	key         []byte // the splitter
	prefix      uint64 // the prefix of the splitter

	scratch []stretch // memory for the halves of a span
}

func newSearcher(k *format.Keyer) *searcher {
	return &searcher{
		keyer:       k,
		recordBytes: k.Layout().RecordSize,
		hasLongKey:  k.KeySize() > 8,
	}
}

func (s *searcher) seek(key []byte) {
	s.key, s.prefix = append(s.key[:0], key...), format.PrefixOf(key)
}

// seekRecord sets the splitter to the key of record i of in.
func (s *searcher) seekRecord(in stretch, i int) {
	s.prefix = in.keys[i]
	if s.hasLongKey {
		s.key = s.keyer.Append(s.key[:0], in.recs[i*s.recordBytes:(i+1)*s.recordBytes])
	}
}

// cut returns the index where the splitter, a record of input owner, cuts the stretch in, which
// belongs to input i. Among equal keys, records of earlier inputs come before the splitter, and
// records of later inputs after it.
func (s *searcher) cut(in stretch, i, at int) int {
	bound := 0
	if i < at {
		bound = 1
	}
	return sort.Search(len(in.keys), func(j int) bool {
		return s.compare(in, j) >= bound
	})
}

// halve cuts all stretches at the middle record of the longest one. The first result contains the
// records before that record in the order (key, stretch, position). If each stretch has only one
// record, all of them are in the first result. The results use the memory of space, or new memory
// if space is too small.
func (s *searcher) halve(stretches, space []stretch) (before, after []stretch) {
	longest := longestOf(stretches)
	middle := len(stretches[longest].keys) / 2
	if middle == 0 {
		return stretches, nil
	}
	space = slices.Grow(space[:0], 2*len(stretches))
	before = space
	after = space[len(stretches):len(stretches)]
	s.seekRecord(stretches[longest], middle)

	for i, in := range stretches {
		at := middle
		if i != longest {
			at = s.cut(in, i, longest)
		}
		if at > 0 {
			before = append(before, in.slice(0, at, s.recordBytes))
		}
		if at < len(in.keys) {
			after = append(after, in.slice(at, len(in.keys), s.recordBytes))
		}
	}

	return before, after
}

func longestOf(stretches []stretch) int {
	longest := 0
	for i, s := range stretches {
		if len(s.keys) > len(stretches[longest].keys) {
			longest = i
		}
	}
	return longest
}

// compare compares the key of record i of in with the splitter.
func (s *searcher) compare(in stretch, i int) int {
	switch key := in.keys[i]; {
	case key < s.prefix:
		return -1
	case key > s.prefix:
		return 1
	case !s.hasLongKey:
		return 0
	}

	var stack [64]byte
	return bytes.Compare(
		s.keyer.Append(stack[:0], in.recs[i*s.recordBytes:(i+1)*s.recordBytes]), s.key,
	)
}
