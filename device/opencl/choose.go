//go:build opencl && cgo && linux

package opencl

import (
	"cmp"
	"fmt"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// bestRadix is onesweep, where that can rank by ballots, else the first of the algorithms, which runs everywhere.
func bestRadix(ctx *cl.Context) string {
	if algo.HasBallots(ctx) {
		return "onesweep"
	}
	return algo.Names()[0]
}

// choice is the algorithm for n keys of a kind and its parameters: the one that the user named, else what was measured
// as fastest (Tuning), else the default.
func (c *chunk) choice(kind KeyKind, n int64) (name string, p algo.Params) {
	digitBits, tuning := c.engine.opt.DigitBits, c.engine.opt.Tuning
	if name = c.opt.Algorithm; name == "" && digitBits > 0 {
		name = c.session.radix()
	}
	if name != "" {
		p = tuning.params(name, kind)
		p.DigitBits = cmp.Or(digitBits, p.DigitBits)
		return name, p
	}
	if best, ok := tuning.best(kind, n); ok {
		return best.Algorithm, best.Params
	}
	if name = c.session.radix(); name == "onesweep" {
		name = "hybrid" // which goes on as onesweep
	}
	return name, algo.Params{}
}

// sorter is the sorter for the words in memory, its kernels built. Parameters that were measured but cannot be built,
// after an update of the driver perhaps, give way to the defaults.
func (c *chunk) sorter() (s *algo.Sorter, name string, err error) {
	d := &c.memory.data
	name, p := c.choice(KeyKind{WordBytes: d.WordBytes, Values: d.Values != nil}, d.N)
	defaults := algo.Params{DigitBits: c.engine.opt.DigitBits}
	if s, err = c.session.sorter(name, p, d); err != nil && p != defaults {
		s, err = c.session.sorter(name, defaults, d)
	}
	return s, name, err
}

// sorter is the session's sorter of that name with these parameters, its kernels for such data built.
func (s *session) sorter(name string, p algo.Params, d *algo.Data) (*algo.Sorter, error) {
	sorter, err := made(s, s.sorters, fmt.Sprint(name, p), func() (*algo.Sorter, error) {
		return algo.New(s.ctx, name, p)
	})
	if err == nil {
		err = sorter.Build(d)
	}
	return sorter, err
}
