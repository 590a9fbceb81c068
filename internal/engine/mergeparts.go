package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

// errUnsorted reports that cuts cross, which cannot happen with sorted inputs.
var errUnsorted = errors.New("part: not all inputs are sorted: check each")

// Parts divides the merge of sorted files into parts.
type Parts struct {
	Files     []*input.Input
	Keyer     *format.Keyer
	WholeKeys bool // records with equal keys belong to the same part
}

// Cuts returns the position in each file at which part k of n begins, for all k from the argument
// from to the argument to, inclusive. So the last position is the end of part to-1.
func (p *Parts) Cuts(ctx context.Context, from, to, n int64) ([][]int64, error) {
	total, err := input.Total(p.Files)
	if err != nil {
		return nil, err
	}
	var ranks []int64
	for k := from; k <= to; k++ {
		first, _ := input.Part{K: k, N: n}.Of(total)
		ranks = append(ranks, first)
	}

	return merge.Cuts(ctx, p.Keyer, p.sorted(), ranks, p.WholeKeys)
}

func (p *Parts) sorted() (inputs []merge.Sorted) {
	for _, file := range p.Files {
		inputs = append(inputs, merge.Sorted{Records: file.Records, ReadRecords: file.ReadRecords})
	}
	return inputs
}

// Take restricts each file to a part and returns the number of records before it. cuts contains
// the cuts of all parts, or is nil if they are not known. If a file is out of order at a cut,
// Take returns a *merge.DisorderError.
func (p *Parts) Take(
	ctx context.Context, part input.Part, cuts [][]int64,
) (before int64, err error) {
	if cuts == nil {
		cuts, err = p.Cuts(ctx, part.K, part.K+1, part.N)
	} else {
		cuts = cuts[part.K : part.K+2]
	}

	if err == nil {
		before, err = p.check(ctx, cuts[0], cuts[1])
	}
	if err == nil {
		err = p.checkEnds(part, cuts[0], cuts[1])
	}
	if err != nil {
		return 0, err
	}
	for i, file := range p.Files {
		file.Slice(cuts[0][i], cuts[1][i])
	}
	return before, nil
}

// check checks that the range between two cuts is valid and returns the number of records before
// it.
func (p *Parts) check(ctx context.Context, from, to []int64) (before int64, err error) {
	if _, err := input.Total(p.Files); err != nil {
		return 0, err
	}
	if len(from) != len(p.Files) || len(to) != len(p.Files) {
		return 0, fmt.Errorf(
			"part: cuts of %d and %d inputs, but there are %d", len(from), len(to),
			len(p.Files),
		)
	}
	for i, file := range p.Files {
		if from[i] < 0 || from[i] > to[i] || to[i] > file.Records {
			return 0, errUnsorted
		}
		before += from[i]
	}

	return before, merge.CheckCut(ctx, p.Keyer, p.sorted(), from)
}

// checkEnds checks that the first part begins with the first record of each file, and that the last
// part ends with the last one. Otherwise, no part has the other records. The cuts may come from the
// user, who found them before a file grew.
func (p *Parts) checkEnds(part input.Part, from, to []int64) error {
	for i, file := range p.Files {
		switch {
		case part.K == 0 && from[i] != 0:
			return fmt.Errorf("part: the cuts of %s begin with record %d, not 0: find them again", file.Name, from[i])
		case part.K == part.N-1 && to[i] != file.Records:
			return fmt.Errorf(
				"part: the cuts of %s end at record %d, but it has %d: find them again", file.Name, to[i],
				file.Records,
			)
		}
	}
	return nil
}
