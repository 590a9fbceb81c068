//go:build opencl && cgo && linux

package opencl

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// chooser leaves each sort to the algorithm and the parameters that were measured as fastest for it (Tuning), else to
// the defaults.
type chooser struct {
	session   *session
	named     string // the algorithm that the user chose; "": none
	digitBits int    // likewise
}

// bestRadix is onesweep, where that can rank by ballots, else the first of the algorithms, which runs everywhere.
func bestRadix(ctx *cl.Context) string {
	if algo.HasBallots(ctx) {
		return "onesweep"
	}
	return algo.Names()[0]
}

// choice is the algorithm for n keys of a kind.
func (c chooser) choice(kind KeyKind, n int64) (name string, p algo.Params) {
	if name = c.named; name == "" && c.digitBits > 0 {
		name = c.session.radix()
	}
	if name != "" {
		p = c.session.tuning.params(name, kind)
		p.DigitBits = cmp.Or(c.digitBits, p.DigitBits)
		return name, p
	}
	if best, ok := c.session.tuning.best(kind, n); ok {
		return best.Algorithm, best.Params
	}
	if name = c.session.radix(); name == "onesweep" {
		name = "hybrid" // which goes on as onesweep
	}
	return name, algo.Params{}
}

func kindOfData(d *algo.Data) KeyKind {
	return KeyKind{WordBytes: d.WordBytes, Values: d.Values != nil}
}

// sort sorts d. Parameters that were measured but cannot be built, after an update of the driver perhaps, give way to
// the defaults.
func (c chooser) sort(q *cl.Queue, d *algo.Data, fromBit, toBit int) error {
	name, p := c.choice(kindOfData(d), d.N)
	sorter, err := c.session.sorter(name, p)
	if err == nil {
		err = sorter.Sort(q, d, fromBit, toBit)
	}
	defaults := algo.Params{DigitBits: c.digitBits}
	if p == defaults || err == nil || sorter != nil && !errors.Is(err, ErrBuild) {
		return err
	}
	if sorter, err = c.session.sorter(name, defaults); err != nil {
		return err
	}
	return sorter.Sort(q, d, fromBit, toBit)
}

// sorter is the session's sorter of that name with these parameters, made at first use.
func (s *session) sorter(name string, p algo.Params) (*algo.Sorter, error) {
	return s.sorters.get(fmt.Sprint(name, p), func() (*algo.Sorter, error) { return algo.New(s.ctx, name, p) })
}

// warm builds the kernels for sorting n keys of a kind, which a sorter does at its first sort, by sorting a few. It
// runs while records are read, so that the first real sort does not wait for the compiler.
func (s *session) warm(c chooser, kind KeyKind, n int64) error {
	const few = 64
	s.sorting.Lock()
	defer s.sorting.Unlock()
	name, p := c.choice(kind, n)
	key := fmt.Sprint(name, p, kind)
	if s.warmed[key] {
		return nil
	}
	sorter, err := s.sorter(name, p)
	if err != nil {
		return nil // parameters of another driver: Sort has a way out
	}
	a := allocator{ctx: s.ctx}
	m := deviceMemory{data: a.data(few, kind.WordBytes, kind.Values)}
	d := &m.data
	defer m.release()
	if a.err != nil {
		return a.err
	}
	if _, err := s.kernels.Fill(d.Keys, 0); err != nil {
		return err
	}
	_ = sorter.Sort(s.kernels, d, 0, d.KeyBits) // what fails here fails again in Sort, which tells of it
	s.warmed[key] = true
	return s.kernels.Finish()
}

// onceMap makes a value for each key at its first use; others that want it wait.
type onceMap[T any] struct {
	mu   sync.Mutex
	made map[string]func() (T, error)
}

func (m *onceMap[T]) get(key string, make func() (T, error)) (T, error) {
	m.mu.Lock()
	if m.made == nil {
		m.made = map[string]func() (T, error){}
	}
	made, ok := m.made[key]
	if !ok {
		made = sync.OnceValues(make)
		m.made[key] = made
	}
	m.mu.Unlock()
	return made()
}

// each visits what could be made.
func (m *onceMap[T]) each(visit func(T)) {
	for _, made := range m.made {
		if value, err := made(); err == nil {
			visit(value)
		}
	}
}
