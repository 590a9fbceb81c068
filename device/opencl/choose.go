//go:build opencl && cgo && linux

package opencl

import (
	"errors"
	"fmt"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// chooser is an algo.Sorter that leaves each sort to the algorithm and the parameters that were measured as fastest
// for it (Tuning), else to the defaults.
type chooser struct {
	session  *session
	named    string // the algorithm that the user chose; "": none
	fallback string // where nothing was measured
}

// newChooser finds out what the default is on this device: hybrid, which goes on as onesweep, where that can rank by
// ballots, else the first of the algorithms, which runs everywhere.
func newChooser(s *session, named string) *chooser {
	c := &chooser{session: s, named: named, fallback: algo.Names()[0]}
	if named == "" && algo.HasBallots(s.ctx) {
		c.fallback = "hybrid"
	}
	return c
}

// choice is the algorithm for n keys of a kind.
func (c *chooser) choice(kind KeyKind, n int64) (name string, p algo.Params) {
	if c.named != "" {
		return c.named, c.session.tuning.params(c.named, kind)
	}
	if best, ok := c.session.tuning.best(kind, n); ok {
		return best.Algorithm, best.Params
	}
	return c.fallback, algo.Params{}
}

func kindOfData(d *algo.Data) KeyKind {
	return KeyKind{WordBytes: d.WordBytes, Values: d.Values != nil}
}

// Sort implements algo.Sorter. Parameters that were measured but cannot be built, after an update of the driver
// perhaps, give way to the defaults.
func (c *chooser) Sort(q *cl.Queue, d *algo.Data, fromBit, toBit int) error {
	name, p := c.choice(kindOfData(d), d.N)
	sorter, err := c.session.made(name, p)
	if err == nil {
		err = sorter.Sort(q, d, fromBit, toBit)
	}
	if p == (algo.Params{}) || err == nil || sorter != nil && !errors.Is(err, ErrBuild) {
		return err
	}
	if sorter, err = c.session.made(name, algo.Params{}); err != nil {
		return err
	}
	return sorter.Sort(q, d, fromBit, toBit)
}

// Close does nothing: sorters belong to the session.
func (c *chooser) Close() {}

// made is the session's sorter of that name with these parameters, made at first use.
func (s *session) made(name string, p algo.Params) (algo.Sorter, error) {
	return s.sorterOnce(fmt.Sprint(name, p), func() (algo.Sorter, error) {
		return algo.New(s.ctx, s.ctx.Device(), name, p)
	})
}

// sorter chooses for each sort, or keeps to the algorithm of that name.
func (s *session) sorter(name string) (*chooser, error) {
	if name != "" {
		if _, err := s.made(name, algo.Params{}); err != nil {
			return nil, err
		}
	}
	made, err := s.sorterOnce("choose "+name, func() (algo.Sorter, error) { return newChooser(s, name), nil })
	if err != nil {
		return nil, err
	}
	return made.(*chooser), nil
}

func (s *session) sorterOnce(key string, make func() (algo.Sorter, error)) (algo.Sorter, error) {
	s.mu.Lock()
	made, ok := s.sorters[key]
	if !ok {
		made = sync.OnceValues(make)
		s.sorters[key] = made
	}
	s.mu.Unlock()
	return made()
}

// describe fills in the rates that info does not have.
func (t *Tuning) describe(info *device.Info) {
	if t == nil {
		return
	}
	if info.LinkRate == 0 {
		info.LinkRate = t.LinkRate
	}
	if info.SortRate == 0 {
		info.SortRate = t.SortRate
	}
}
