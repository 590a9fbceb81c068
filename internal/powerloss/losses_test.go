//go:build linux

package powerloss

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
)

// A loss says how much of an effect a crash undoes.
type loss int

const (
	lostWhole      loss = iota // the whole effect
	lostSecondHalf             // the second half of a write, which is then torn
)

// losses are the effects that a crash undoes. All other effects survive.
type losses map[*effect]loss

// extent reports whether an effect survives at least in part, and whether it is torn.
func (l losses) extent(e *effect) (survives, torn bool) {
	how, isLost := l[e]
	torn = isLost && how == lostSecondHalf
	return !isLost || torn, torn
}

// with returns the losses in l and in more. For an effect in both, more counts.
func (l losses) with(more losses) losses {
	all := maps.Clone(l)
	maps.Copy(all, more)
	return all
}

// lossesAt yields the losses that a crash after a line of the trace may cause: any subset of the
// pending changes of names, combined with losses of the bytes of the files that then have a name.
func (h *history) lossesAt(moment int) iter.Seq[losses] {
	return func(yield func(losses) bool) {
		names, writes := h.pending(moment)
		for lostNames := range subsets(names) {
			for lostBytes := range lossesOfBytes(writes, h.namesAfter(moment, lostNames)) {
				if !yield(lostNames.with(lostBytes)) {
					return
				}
			}
		}
	}
}

// pending returns the effects that a crash after a line may undo: those on names, and those on
// the bytes of files.
func (h *history) pending(moment int) (names []*effect, writes map[*file][]*effect) {
	writes = map[*file][]*effect{}
	for _, e := range h.effects {
		switch {
		case e.begin > moment || e.durable <= moment:
		case e.names != nil:
			names = append(names, e)
		default:
			writes[e.file] = append(writes[e.file], e)
		}
	}
	return names, writes
}

// maxSubsets is the maximum number of effects for which all subsets are tried. For more effects,
// singlesAndSuffixes are tried.
const maxSubsets = 8

func subsets(effects []*effect) iter.Seq[losses] {
	if len(effects) > maxSubsets {
		return singlesAndSuffixes(effects, false)
	}
	return func(yield func(losses) bool) {
		for bits := range 1 << len(effects) {
			lost := losses{}
			for i, e := range effects {
				if bits>>i&1 != 0 {
					lost[e] = lostWhole
				}
			}
			if !yield(lost) {
				return
			}
		}
	}
}

// singlesAndSuffixes yields these losses: nothing, each single effect, and each effect with all
// later ones. If torn is set, the last kind also occurs with the second half of its first effect
// instead of the whole effect. For three effects, lost ones in upper case, and t for a torn one:
//
//	abc  Abc ABC tBC  aBc aBC atC  abC abC abt
func singlesAndSuffixes(effects []*effect, torn bool) iter.Seq[losses] {
	return func(yield func(losses) bool) {
		if !yield(losses{}) {
			return
		}
		for i, e := range effects {
			single := losses{e: lostWhole}
			suffix := losses{}
			for _, later := range effects[i:] {
				suffix[later] = lostWhole
			}
			if !yield(single) || !yield(suffix) {
				return
			}
			if torn && !yield(suffix.with(losses{e: lostSecondHalf})) {
				return
			}
		}
	}
}

// lossesOfBytes yields losses of the bytes of files with a name. One file at a time loses
// singlesAndSuffixes of its writes, while the other files lose either all pending writes or none.
func lossesOfBytes(writes map[*file][]*effect, names map[string]*file) iter.Seq[losses] {
	everything := losses{}
	pending := map[*file]bool{}
	for _, f := range names {
		for _, e := range writes[f] {
			everything[e] = lostWhole
			pending[f] = true
		}
	}
	return func(yield func(losses) bool) {
		if !yield(losses{}) || !yield(everything) {
			return
		}
		for f := range pending {
			others := maps.Clone(everything)
			maps.DeleteFunc(others, func(e *effect, _ loss) bool { return e.file == f })
			for lost := range singlesAndSuffixes(writes[f], true) {
				if !yield(lost) || !yield(others.with(lost)) {
					return
				}
			}
		}
	}
}

// randomLosses returns the losses of a random crash after a line of the trace. It may lose each
// pending change of a name, and of each file a single write, any subset of its writes, or all writes
// from one on, the first of which may be torn.
func (h *history) randomLosses(r *rand.Rand, moment int) losses {
	names, writes := h.pending(moment)
	lost := randomSubset(r, names)
	for _, e := range h.effects { // a constant order, so that a seed always gives the same result
		if ofFile := writes[e.file]; len(ofFile) > 0 {
			maps.Copy(lost, randomLossesOfBytes(r, ofFile))
			delete(writes, e.file)
		}
	}
	return lost
}

// randomSubset loses a random subset of the effects: few, half or most of them.
func randomSubset(r *rand.Rand, effects []*effect) losses {
	lost := losses{}
	quarters := r.IntN(3)
	for _, e := range effects {
		if r.IntN(4) <= quarters {
			lost[e] = lostWhole
		}
	}
	return lost
}

func randomLossesOfBytes(r *rand.Rand, writes []*effect) losses {
	switch r.IntN(4) {
	case 0:
		return losses{}
	case 1:
		return randomSubset(r, writes)
	}
	all := slices.Collect(singlesAndSuffixes(writes, true))
	return all[r.IntN(len(all))]
}
