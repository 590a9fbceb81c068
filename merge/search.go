package merge

import (
	"bytes"
	"slices"
	"sort"

	"github.com/extsort/extsort/format"
)

// searcher finds where a splitter falls in a stretch. A splitter is a normalized key.
type searcher struct {
	keyer *format.Keyer
	size  int    // record size
	wide  bool   // the key is longer than its prefix
	key   []byte // the splitter
	word  uint64 // its prefix

	scratch []stretch // memory for the halves of a span
}

func newSearcher(k *format.Keyer) *searcher {
	return &searcher{keyer: k, size: k.Layout().RecordSize, wide: k.KeySize() > 8}
}

func (s *searcher) seek(key []byte) {
	s.key, s.word = append(s.key[:0], key...), format.PrefixOf(key)
}

// seekRecord sets the splitter to the key of record i of in.
func (s *searcher) seekRecord(in stretch, i int) {
	s.word = in.keys[i]
	if s.wide {
		s.key = s.keyer.Append(s.key[:0], in.recs[i*s.size:(i+1)*s.size])
	}
}

// cut is where the splitter, of a record of input number at, cuts in, which is of input number i: of equal keys, those
// of earlier inputs come before the splitter, those of later ones after it.
func (s *searcher) cut(in stretch, i, at int) int {
	bound := 0
	if i < at {
		bound = 1
	}
	return sort.Search(len(in.keys), func(j int) bool { return s.compare(in, j) >= bound })
}

// halve cuts stretches in two where the middle of the longest is: first come the records before that one in the order
// (key, stretch, position). Where each has but one record, all come first. The halves lie in space, one behind the
// other, or in new memory where it is too little.
func (s *searcher) halve(stretches, space []stretch) (before, after []stretch) {
	longest := longestOf(stretches)
	middle := len(stretches[longest].keys) / 2
	if middle == 0 {
		return stretches, nil
	}
	space = slices.Grow(space[:0], 2*len(stretches))
	before, after = space, space[len(stretches):len(stretches)]
	s.seekRecord(stretches[longest], middle)
	for i, in := range stretches {
		at := middle
		if i != longest {
			at = s.cut(in, i, longest)
		}
		if at > 0 {
			before = append(before, in.part(0, at, s.size))
		}
		if at < len(in.keys) {
			after = append(after, in.part(at, len(in.keys), s.size))
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

// compare orders record i of in against the splitter.
func (s *searcher) compare(in stretch, i int) int {
	switch key := in.keys[i]; {
	case key < s.word:
		return -1
	case key > s.word:
		return 1
	case !s.wide:
		return 0
	}
	var stack [64]byte
	return bytes.Compare(s.keyer.Append(stack[:0], in.recs[i*s.size:(i+1)*s.size]), s.key)
}
