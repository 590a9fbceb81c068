package merge

import (
	"bytes"

	"github.com/extsort/extsort/format"
)

// searcher finds where a splitter falls in a stretch. A splitter is a normalized key.
type searcher struct {
	keyer *format.Keyer
	size  int    // record size
	wide  bool   // the key is longer than its prefix
	key   []byte // the splitter
	word  uint64 // its prefix
}

func newSearcher(k *format.Keyer) *searcher {
	return &searcher{keyer: k, size: k.Layout().RecordSize, wide: k.KeySize() > 8}
}

// seek sets the splitter.
func (s *searcher) seek(key []byte) {
	s.key, s.word = key, format.PrefixOf(key)
}

// seekRecord sets the splitter to the key of record i of in.
func (s *searcher) seekRecord(in stretch, i int) {
	s.word = in.keys[i]
	if s.wide {
		s.key = s.keyer.Append(s.key[:0], in.recs[i*s.size:(i+1)*s.size])
	}
}

// cut is where the splitter, of a record of input number at, cuts in, which is of input number i and is searched from
// index from on: of equal keys, those of earlier inputs come before the splitter, those of later ones after it.
func (s *searcher) cut(in stretch, from, i, at int) int {
	if i < at {
		return s.partitionPoint(in, from, 1)
	}
	return s.partitionPoint(in, from, 0)
}

// halve tells for every stretch where it is cut when the longest is cut in its middle: first come the records before
// that one in the order (key, stretch, position).
func (s *searcher) halve(stretches []stretch, longest int, cut func(in stretch, at int)) {
	middle := len(stretches[longest].keys) / 2
	s.seekRecord(stretches[longest], middle)
	for i, in := range stretches {
		if i == longest {
			cut(in, middle)
			continue
		}
		cut(in, s.cut(in, 0, i, longest))
	}
}

// partitionPoint gallops from where the last splitter fell, because the next is usually near, and then halves.
// Records that compare below the bound come first: those whose comparison with the splitter is less than bound.
func (s *searcher) partitionPoint(in stretch, from, bound int) int {
	lo, step := from, 16
	hi := lo
	for hi < len(in.keys) && s.compare(in, hi) < bound {
		lo, hi = hi+1, hi+step
		step *= 2
	}
	hi = min(hi, len(in.keys))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if s.compare(in, mid) < bound {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
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
