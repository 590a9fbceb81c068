package sets

import "context"

// large handles the records with one key. At least one input has more of them than fit into a
// block.
func (op *operation) large(ctx context.Context, groups []*group) error {
	isEverywhere := len(groups) == len(op.opt.Inputs)
	ofA := groups[0].input == 0
	switch {
	case op.opt.Operation == Compare:
		return op.compareLarge(ctx, groups)
	case op.opt.Operation == Join:
		return op.joinLarge(ctx, groups)
	case op.opt.Operation == Union && op.opt.All:
		for _, g := range groups {
			if err := op.copyGroup(ctx, op.sinks[result], g); err != nil {
				return err
			}
		}
		return nil
	case op.opt.Operation == Union:
		return op.copyFirst(ctx, groups)
	case op.opt.Operation == Intersect && isEverywhere && op.opt.All:
		return op.intersectLarge(ctx, groups)
	case op.opt.Operation == Intersect && isEverywhere:
		return op.copyFirst(ctx, groups)
	case op.opt.Operation == Subtract && ofA && op.opt.All:
		return op.subtractLarge(ctx, groups)
	case op.opt.Operation == Subtract && ofA && len(groups) == 1:
		return op.copyFirst(ctx, groups)
	}
	return skipAll(ctx, groups)
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

// intersectLarge writes the first n records of the first group, where n is the number of records in
// the smallest group.
func (op *operation) intersectLarge(ctx context.Context, groups []*group) error {
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

// subtractLarge skips one record of the first group for each record of the others, and writes the
// rest.
func (op *operation) subtractLarge(ctx context.Context, groups []*group) error {
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
