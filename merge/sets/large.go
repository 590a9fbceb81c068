package sets

import "context"

// large handles the records with one key. At least one input has more of them than fit into a
// block.
func (op *operation) large(ctx context.Context, groups []*group) error {
	switch op.opt.Operation {
	case Compare:
		return op.compareLarge(ctx, groups)
	case Join:
		return op.joinLarge(ctx, groups)
	case Union:
		return op.uniteLarge(ctx, groups)
	case Intersect:
		return op.intersectLarge(ctx, groups)
	case Subtract:
		return op.subtractLarge(ctx, groups)
	}
	return skipAll(ctx, groups)
}

// uniteLarge writes the records of all groups or, without All, those of the first group.
func (op *operation) uniteLarge(ctx context.Context, groups []*group) error {
	if !op.opt.All {
		return op.copyFirst(ctx, groups)
	}
	for _, g := range groups {
		if err := op.copyGroup(ctx, op.sinks[result], g); err != nil {
			return err
		}
	}
	return nil
}

// intersectLarge writes records of a key that every input has.
func (op *operation) intersectLarge(ctx context.Context, groups []*group) error {
	switch {
	case len(groups) < len(op.opt.Inputs):
		return skipAll(ctx, groups)
	case op.opt.All:
		return op.copySmallest(ctx, groups)
	}
	return op.copyFirst(ctx, groups)
}

// subtractLarge writes records of a key that the first input has.
func (op *operation) subtractLarge(ctx context.Context, groups []*group) error {
	switch {
	case groups[0].input != 0:
		return skipAll(ctx, groups)
	case op.opt.All:
		return op.copySurplus(ctx, groups)
	case len(groups) > 1:
		return skipAll(ctx, groups)
	}
	return op.copyFirst(ctx, groups)
}

// copyGroup writes the rest of a group.
func (op *operation) copyGroup(ctx context.Context, to *sink, g *group) error {
	return g.each(ctx, func(recs stretch) error { return to.add(ctx, recs.recs) })
}

// copyFirst writes the first group and skips the others.
func (op *operation) copyFirst(ctx context.Context, groups []*group) error {
	if err := op.copyGroup(ctx, op.sinks[result], groups[0]); err != nil {
		return err
	}
	return skipAll(ctx, groups[1:])
}

func skipAll(ctx context.Context, groups []*group) error {
	for _, g := range groups {
		if err := g.skip(ctx); err != nil {
			return err
		}
	}
	return nil
}

// copySmallest writes the first n records of the first group, where n is the number of records in
// the smallest group.
func (op *operation) copySmallest(ctx context.Context, groups []*group) error {
	for {
		n := groups[0].n
		for _, g := range groups {
			n = min(n, g.n)
		}
		if n == 0 {
			return skipAll(ctx, groups)
		}
		recs := groups[0].records(n)
		if err := op.sinks[result].add(ctx, recs.recs); err != nil {
			return err
		}
		for _, g := range groups {
			if err := g.advance(ctx, n); err != nil {
				return err
			}
		}
	}
}

// copySurplus skips one record of the first group for each record of the others, and writes the
// rest.
func (op *operation) copySurplus(ctx context.Context, groups []*group) error {
	a := groups[0]
	for _, g := range groups[1:] {
		for a.n > 0 && g.n > 0 {
			n := min(a.n, g.n)
			if err := a.advance(ctx, n); err != nil {
				return err
			}
			if err := g.advance(ctx, n); err != nil {
				return err
			}
		}
	}
	return op.copyFirst(ctx, groups)
}

// compareLarge counts and writes one key of a comparison.
func (op *operation) compareLarge(ctx context.Context, groups []*group) error {
	var records [2]int64
	for _, g := range groups {
		to := op.sinks[both]
		switch {
		case len(groups) == 1 && g.input == 0:
			to = op.sinks[onlyA]
		case len(groups) == 1:
			to = op.sinks[onlyB]
		case g.input == 1:
			to = nil
		}
		err := g.each(ctx, func(recs stretch) error {
			records[g.input] += int64(len(recs.keys))
			return to.add(ctx, recs.recs)
		})
		if err != nil {
			return err
		}
	}

	switch {
	case len(groups) == 2:
		op.counts.KeysBoth++
		op.counts.RecordsBoth += records[0]
		op.counts.OtherBoth += records[1]
	case groups[0].input == 0:
		op.counts.KeysA++
		op.counts.RecordsA += records[0]
	default:
		op.counts.KeysB++
		op.counts.RecordsB += records[1]
	}
	return nil
}
