//go:build linux

package powerloss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// A state is a possible content of the watched directories after a crash.
type state struct {
	moment   int  // last line of the trace before the crash
	finished bool // the command had begun to exit with 0
	lost     int  // number of lost effects
	files    map[string][]byte
	folders  []string
}

func (s state) String() string {
	return fmt.Sprintf("after line %d (exit: %t), %d effects lost", s.moment, s.finished, s.lost)
}

// losses are effects that a crash undoes. true means that the first half of a write survives.
type losses map[*effect]bool

func (l losses) with(more losses) losses {
	all := maps.Clone(l)
	maps.Copy(all, more)
	return all
}

// crashes returns every state that a crash after any line of the trace may leave, each once. Any
// subset of the name changes that are not durable yet may be lost. Of one named file at a time, the
// crash loses either a single write, or all writes from some write on, where half of the first one
// may survive. See lossesOfBytes for the other files.
func (h *history) crashes() iter.Seq[state] {
	return func(yield func(state) bool) {
		seen, seed := map[uint64]bool{}, maphash.MakeSeed()
		for _, moment := range h.moments() {
			for lost := range h.losses(moment) {
				key := h.key(seed, moment, lost)
				if !seen[key] && !yield(h.after(moment, lost)) {
					return
				}
				seen[key] = true
			}
		}
	}
}

// moments returns the lines after which the set of effects that may be lost changes.
func (h *history) moments() []int {
	moments := []int{0, h.exited}
	for _, e := range h.effects {
		moments = append(moments, e.begin, e.end)
		if e.durable < never {
			moments = append(moments, e.durable)
		}
	}
	slices.Sort(moments)
	return slices.Compact(moments)
}

func (h *history) losses(moment int) iter.Seq[losses] {
	return func(yield func(losses) bool) {
		names, writes := h.pending(moment)
		for lostNames := range subsets(names) {
			for lost := range lossesOfBytes(writes, h.names(moment, lostNames)) {
				if !yield(lostNames.with(lost)) {
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

// maxSubsets is the maximum number of effects for which all combinations are tried. If there are
// more, a single one is lost, or all from one on.
const maxSubsets = 8

func subsets(effects []*effect) iter.Seq[losses] {
	if len(effects) > maxSubsets {
		return inOrder(effects, false)
	}
	return func(yield func(losses) bool) {
		for bits := range 1 << len(effects) {
			lost := losses{}
			for i, e := range effects {
				if bits>>i&1 != 0 {
					lost[e] = false
				}
			}
			if !yield(lost) {
				return
			}
		}
	}
}

// draw returns a random crash after a line of the trace. Each name change that is not durable yet
// may be lost. Each file may lose a single write, any subset of its writes, or all writes from some
// write on. In the last case, half of the first lost write may survive.
func (h *history) draw(r *rand.Rand, moment int) losses {
	names, writes := h.pending(moment)
	lost := anyOf(r, names)
	for _, e := range h.effects { // a constant order, so that a seed always gives the same result
		if of := writes[e.file]; len(of) > 0 {
			maps.Copy(lost, drawBytes(r, of))
			delete(writes, e.file)
		}
	}
	return lost
}

// anyOf loses a random subset of the effects: few, half or most of them.
func anyOf(r *rand.Rand, effects []*effect) losses {
	lost, of := losses{}, r.IntN(3)
	for _, e := range effects {
		if r.IntN(4) <= of {
			lost[e] = false
		}
	}
	return lost
}

func drawBytes(r *rand.Rand, writes []*effect) losses {
	switch r.IntN(4) {
	case 0:
		return losses{}
	case 1:
		return anyOf(r, writes)
	}
	all := slices.Collect(inOrder(writes, true))
	return all[r.IntN(len(all))]
}

// inOrder yields these losses: nothing, each single effect, and all effects from each one on. If
// torn is set, it also yields the last kind with its first effect torn.
func inOrder(effects []*effect, torn bool) iter.Seq[losses] {
	return func(yield func(losses) bool) {
		if !yield(losses{}) {
			return
		}
		for i, e := range effects {
			all := losses{}
			for _, later := range effects[i:] {
				all[later] = false
			}
			if !yield(losses{e: false}) || !yield(all) || torn && !yield(all.with(losses{e: true})) {
				return
			}
		}
	}
}

// lossesOfBytes yields losses of the bytes of one file at a time. The other files lose either
// everything or nothing. Files without a name are ignored.
func lossesOfBytes(bytes map[*file][]*effect, names map[string]*file) iter.Seq[losses] {
	all := losses{}
	pending := map[*file]bool{}
	for _, f := range names {
		for _, e := range bytes[f] {
			all[e], pending[f] = false, true
		}
	}
	return func(yield func(losses) bool) {
		if !yield(losses{}) || !yield(all) {
			return
		}
		for f := range pending {
			others := maps.Clone(all)
			maps.DeleteFunc(others, func(e *effect, _ bool) bool { return e.file == f })
			for lost := range inOrder(bytes[f], true) {
				if !yield(lost) || !yield(others.with(lost)) {
					return
				}
			}
		}
	}
}

// kept returns the effects before a crash that were not lost. torn means that only the first half
// survived.
func (h *history) kept(moment int, lost losses) iter.Seq2[*effect, bool] {
	return func(yield func(e *effect, torn bool) bool) {
		for _, e := range h.effects {
			torn, isLost := lost[e]
			if e.begin <= moment && (!isLost || torn) && !yield(e, torn) {
				return
			}
		}
	}
}

// names returns the names that exist after a crash.
func (h *history) names(moment int, lost losses) map[string]*file {
	names := maps.Clone(h.initial)
	for e := range h.kept(moment, lost) {
		maps.Copy(names, e.names)
	}
	maps.DeleteFunc(names, func(path string, f *file) bool { return f == nil })
	return names
}

// key returns the same number for crashes that leave the same state.
func (h *history) key(seed maphash.Seed, moment int, lost losses) uint64 {
	var sum maphash.Hash
	sum.SetSeed(seed)
	note := func(n int) { sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	if h.exited > 0 && moment >= h.exited {
		note(1)
	}
	names := h.names(moment, lost)
	first := map[*file]int{}
	for i, path := range slices.Sorted(maps.Keys(names)) {
		sum.WriteString(path)
		if _, ok := first[names[path]]; !ok {
			first[names[path]] = i
		}
		note(first[names[path]])
	}
	at := 0
	for _, e := range h.effects {
		at++
		torn, isLost := lost[e]
		if _, visible := first[e.file]; visible && e.begin <= moment && (!isLost || torn) {
			note(at)
			maphash.WriteComparable(&sum, torn)
		}
	}
	return sum.Sum64()
}

// after returns the state that a crash leaves.
func (h *history) after(moment int, lost losses) state {
	s := state{
		moment:   moment,
		finished: h.exited > 0 && moment >= h.exited,
		lost:     len(lost),
		files:    map[string][]byte{},
	}
	bytes := map[*file][]byte{}
	names := h.names(moment, lost)
	for _, f := range names {
		bytes[f] = slices.Clone(f.before)
	}
	for e, torn := range h.kept(moment, lost) {
		if before, visible := bytes[e.file]; visible {
			bytes[e.file] = e.apply(before, torn)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(names)) {
		if f := names[path]; f.folder {
			s.folders = append(s.folders, path)
		} else {
			s.files[path] = bytes[f]
		}
	}
	return s
}

// materialize makes the watched directories contain exactly the state that a crash left.
func (h *history) materialize(s state) error {
	var errs []error
	for _, folder := range h.watched {
		errs = append(errs, os.RemoveAll(folder), os.Mkdir(folder, 0o777))
	}
	for _, folder := range s.folders {
		// A directory in a lost directory is lost, too, but the test cannot distinguish that.
		errs = append(errs, os.MkdirAll(folder, 0o777))
	}
	for path, data := range s.files {
		if _, err := os.Stat(filepath.Dir(path)); err == nil { // otherwise its directory is lost
			errs = append(errs, os.WriteFile(path, data, 0o666))
		}
	}
	return errors.Join(errs...)
}
