package engine

import (
	"context"
	"errors"
	"sort"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/tally"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu/radix"
	"github.com/extsort/extsort/format"
)

// TallyBytes returns the maximum memory for a distinct key in strategy tally, or 0 if the strategy
// cannot write records in this form. Without Unique, records are only counted, so they must be
// their keys. isUnique means that one record is written for each key.
func TallyBytes(form Form, keyer *format.Keyer, isUnique bool) int {
	a := form.Aggregation
	switch {
	case keyer.KeySize() > 8 || form.To > 0 || form.RowBytes > 0:
		return 0
	case !isUnique:
		if !keyer.Layout().IsBare() {
			return 0
		}
		return tally.KeyBytes(nil)
	case a == nil:
		return 0
	}
	if _, ok := a.Measures(); !ok {
		return 0
	}
	return tally.KeyBytes(a)
}

// runTally counts or combines the records of each key in hash tables, one for each worker, and
// writes the results in the order of the keys. Nothing is written before all records have been
// read.
func runTally(ctx context.Context, r *Run, c *plan.Candidate) (err error) {
	r.Meter.begin(plan.StageTally, atInput, r.Input.DataBytes())
	table, err := fillTables(ctx, r, int(c.ChunkRecords))
	r.Meter.end(r.Input.Bytes())
	defer func() { err = errors.Join(err, table.Close()) }()

	if errors.Is(err, tally.ErrFull) {
		return &plan.Impossible{Why: err.Error()}
	}
	if err != nil {
		return err
	}
	return inStage(r, plan.StageWrite, atOutput, r.Input.Bytes(), func() error {
		table.Sort()
		if r.Output.form.Aggregation != nil {
			return writeResults(ctx, r, table)
		}
		return writeCounted(ctx, r, table)
	})
}

// fillTables reads all records into tables and joins these.
func fillTables(ctx context.Context, r *Run, maxKeys int) (all *tally.Table, err error) {
	source := r.Input.Data.Split(1)[0]
	tables := make([]*tally.Table, r.Plan.Sizes.Workers)
	defer func() {
		for _, t := range tables[1:] {
			err = errors.Join(err, t.Close())
		}
	}()

	err = device.Each(ctx, len(tables), func(ctx context.Context, i int) (err error) {
		tables[i], err = tally.New(tally.Options{
			Keyer:       r.Input.Keyer,
			Aggregation: r.Output.form.Aggregation,
			MaxKeys:     maxKeys,
		})
		if err != nil {
			return err
		}
		return fillTable(ctx, tables[i], source, r.Input.size)
	})
	for _, t := range tables[1:] {
		if err == nil {
			err = tables[0].Join(t)
		}
	}
	return tables[0], err
}

// fillTable adds records of a source to a table until none are left.
func fillTable(ctx context.Context, t *tally.Table, source device.Source, size int) error {
	block := max(plan.TallyBlockBytes/size, 1)
	buffer := make([]byte, block*size)
	for ctx.Err() == nil {
		first, n, err := source.Next(block, func(_ int64, n int) []byte { return buffer[:n*size] })
		if err != nil || n == 0 {
			return err
		}
		if err := t.Add(first, buffer[:n*size]); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// writeResults writes the result of each key.
func writeResults(ctx context.Context, r *Run, t *tally.Table) error {
	a := r.Output.form.Aggregation
	fold := a.NewFold()
	limit := r.Facts.Request.Limit
	most := max(r.Plan.Sizes.BlockBytes/a.Size(), 1) * a.Size()
	block := make([]byte, 0, min(most, t.Keys()*a.Size()))
	written := int64(0)
	flush := func() error {
		first := written
		written += int64(len(block) / a.Size())
		err := r.Output.results.WriteBlock(ctx, first, block)
		block = block[:0]
		return err
	}

	for i := range t.Keys() {
		t.Fold(i, fold)
		if r.Output.form.Groups.Repeated && fold.Records() == 1 {
			continue
		}
		var err error
		if block, err = fold.AppendResult(block); err != nil {
			return err
		}
		if len(block) >= most {
			if err := flush(); err != nil {
				return err
			}
		}
		if limit > 0 && written+int64(len(block)/a.Size()) >= limit {
			break
		}
	}
	if len(block) == 0 {
		return nil
	}
	return flush()
}

// writeCounted writes each key as often as it was counted.
func writeCounted(ctx context.Context, r *Run, t *tally.Table) error {
	size := r.Input.size
	keys := make([]uint64, t.Keys())
	ends := make([]int64, t.Keys()) // number of records up to the end of each key
	end := int64(0)
	for i := range keys {
		key, n := t.Count(i)
		keys[i] = key
		end += n
		ends[i] = end
	}
	if first := r.Facts.First(); first >= 0 {
		end = min(end, first)
	}
	records := make([]byte, len(keys)*size)
	r.Input.Keyer.Records(records, keys)

	workers := r.Plan.Sizes.Workers
	block := int64(r.Plan.Sizes.BlockBytes / size)
	blocks := int((end + block - 1) / block)
	buffers := make([][]byte, workers)
	return device.InOrder(ctx, workers, blocks, func(ctx context.Context, worker, i int) error {
		if buffers[worker] == nil {
			buffers[worker] = make([]byte, 0, int(block)*size)
		}
		first := int64(i) * block
		at := sort.Search(len(ends), func(i int) bool { return ends[i] > first })
		out := buffers[worker]
		for last := min(first+block, end); first < last; at++ {
			n := int(min(ends[at], last)-first) * size
			next := len(out)
			out = out[:next+n]
			radix.Fill(out[next:], records[at*size:(at+1)*size]...)
			first += int64(n / size)
		}
		return r.Output.WriteBlock(ctx, int64(i)*block, out)
	})
}
