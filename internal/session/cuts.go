package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/safely"
)

// A Part selects one of several equal parts: Part{K: k, N: n} is the k-th of n parts, counted from
// 0. The zero Part selects everything.
type Part = input.Part

// Cuts returns the positions at which to cut sorted inputs, so that Merge can merge them in n
// parts. For the result c, part k consists of the records c[k][i] to c[k+1][i]-1 of each input i.
// The sizes of the parts differ by at most one record. Records are ordered by key, input and
// position. With Unique or Duplicates, records with equal keys are in the same part. Cuts reads
// only single records. If opt.Part is set, Cuts returns only the cuts of its share of the n parts,
// and c[0] is the first of them.
func Cuts(ctx context.Context, opt MergeOptions, n int64) ([][]int64, error) {
	if err := opt.Part.Validate(); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, fmt.Errorf("cuts: the number of parts is %d, but must be at least 1", n)
	}
	from, to := opt.Part.Of(n)
	opt.Part = Part{}
	opt.Cuts = nil
	s, err := begin(ctx, opt.options(), false)
	if err != nil {
		return nil, err
	}
	var cuts [][]int64
	err = safely.Call(func() (err error) {
		cuts, err = s.opt.parts(s.run.Input.Files, s.run.Input.Keyer).Cuts(ctx, from, to, n)
		return err
	})
	return cuts, errors.Join(err, s.close())
}

// parts returns the inputs of a merge in a form that can be cut into parts.
func (o *Options) parts(files []*input.Input, k *format.Keyer) *engine.Parts {
	wholeKeys := o.Unique || o.Duplicates || o.merge != nil && o.merge.setOperation
	return &engine.Parts{Files: files, Keyer: k, WholeKeys: wholeKeys}
}

// restrict restricts the inputs to Options.Part and returns the number of records before the part.
func (o *Options) restrict(ctx context.Context, files []*input.Input, k *format.Keyer) (before int64, err error) {
	switch {
	case o.Part.N == 0:
		return 0, nil
	case o.merge == nil:
		return o.Part.Slice(files)
	}
	before, err = o.parts(files, k).Take(ctx, o.Part, o.merge.Cuts)
	s := &session{opt: *o, run: &engine.Run{Input: &engine.Input{Files: files, Keyer: k}}}
	return before, s.nameDisorder(ctx, err)
}
