//go:build linux

package powerloss

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
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

// crashes returns every state that a crash may leave, each once. A crash is the pair of a moment and
// the losses at that moment:
//
//	trace        line 1 … moment … last line
//	effects      durable: survive any crash
//	             pending at the moment: may be lost, alone or with others (losses_test.go)
//	             later: have not happened
//
// Different crashes often leave the same state, so states are compared by their stateKey.
func (h *history) crashes() iter.Seq[state] {
	return func(yield func(state) bool) {
		seen := map[uint64]bool{}
		seed := maphash.MakeSeed()
		for _, moment := range h.moments() {
			for lost := range h.lossesAt(moment) {
				key := h.stateKey(seed, moment, lost)
				if seen[key] {
					continue
				}
				seen[key] = true
				if !yield(h.after(moment, lost)) {
					return
				}
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

// surviving returns the effects before a crash that survive at least in part. If torn is set, only
// the first half of the effect survives.
func (h *history) surviving(moment int, lost losses) iter.Seq2[*effect, bool] {
	return func(yield func(e *effect, torn bool) bool) {
		for _, e := range h.effects {
			survives, torn := lost.extent(e)
			if e.begin <= moment && survives && !yield(e, torn) {
				return
			}
		}
	}
}

// namesAfter returns the names that exist after a crash.
func (h *history) namesAfter(moment int, lost losses) map[string]*file {
	names := maps.Clone(h.initial)
	for e := range h.surviving(moment, lost) {
		maps.Copy(names, e.names)
	}
	maps.DeleteFunc(names, func(path string, f *file) bool { return f == nil })
	return names
}

// stateKey returns the same number for crashes that leave the same state: the same names for the
// same files, and the same effects on the bytes of these files.
func (h *history) stateKey(seed maphash.Seed, moment int, lost losses) uint64 {
	var sum maphash.Hash
	sum.SetSeed(seed)
	add := func(n int) { sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	if h.exited > 0 && moment >= h.exited {
		add(1)
	}

	// Files are identified by the index of their first name.
	names := h.namesAfter(moment, lost)
	first := map[*file]int{}
	for i, path := range slices.Sorted(maps.Keys(names)) {
		sum.WriteString(path)
		if _, ok := first[names[path]]; !ok {
			first[names[path]] = i
		}
		add(first[names[path]])
	}

	for i, e := range h.effects {
		survives, torn := lost.extent(e)
		if _, visible := first[e.file]; visible && e.begin <= moment && survives {
			add(i + 1)
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
	names := h.namesAfter(moment, lost)
	for _, f := range names {
		bytes[f] = slices.Clone(f.before)
	}
	for e, torn := range h.surviving(moment, lost) {
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
