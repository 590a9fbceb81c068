package columns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/sets"
)

// SetOptions describe a set operation or a join of sorted tables. Each of Inputs is a table: a file, a
// directory or a pattern. Without Keys, those are used that the first Parquet file declares. The output has
// the schema of the first table, followed by the other columns of the second table in a join.
type SetOptions struct {
	Options
	Operation sets.Operation // Union, Intersect, Subtract, InnerJoin or LeftJoin
	All       bool           // see sets.Job
}

// Combine runs a set operation or a join. A row out of order is an error.
func Combine(ctx context.Context, opt SetOptions) (report *extsort.Report, err error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	m, err := opt.budget()
	if err != nil {
		return nil, err
	}
	c := &combination{opt: opt, budget: m.forSets()}
	defer c.close()
	if err := c.openTables(); err != nil {
		return nil, err
	}
	if err := checkOutput(opt.Options, c.tables[0].inputs[0]); err != nil {
		return nil, err
	}
	for _, t := range c.tables {
		if err := cmp.Or(t.checkTarget(opt.Options, true), t.checkPartitions(opt.Inputs)); err != nil {
			return nil, err
		}
	}
	if err := c.setLayouts(); err != nil {
		return nil, err
	}
	target, err := newTarget(ctx, opt.Options)
	if err != nil {
		return nil, err
	}
	report, err = c.run(ctx, target)
	if err == nil {
		err = target.Commit(ctx)
	}
	if err != nil {
		return report, errors.Join(err, target.Abort())
	}
	return report, nil
}

// validate rejects options that set operations do not have.
func (opt SetOptions) validate() error {
	switch {
	case !slices.Contains([]sets.Operation{sets.Union, sets.Intersect, sets.Subtract, sets.InnerJoin, sets.LeftJoin},
		opt.Operation):
		return fmt.Errorf("%s joins are not for Parquet and Arrow files: use a left join, if necessary with A and B swapped",
			opt.Operation)
	case opt.isJoin() && len(opt.Inputs) != 2:
		return fmt.Errorf("want two files A and B, but got %d", len(opt.Inputs))
	case len(opt.Inputs) < 2 && opt.Operation != sets.Union:
		return fmt.Errorf("want a file A and at least one more, but got %d", len(opt.Inputs))
	}
	return nil
}

func (opt SetOptions) isJoin() bool {
	return opt.Operation == sets.InnerJoin || opt.Operation == sets.LeftJoin
}

// A combination is one set operation.
type combination struct {
	opt    SetOptions
	budget budget
	tables []*table
}

func (c *combination) close() {
	for _, t := range c.tables {
		t.close()
	}
}

// openTables opens the inputs.
func (c *combination) openTables() error {
	for _, name := range c.opt.Inputs {
		t, err := openTable([]string{name}, c.ofTable().columns/2)
		if err != nil {
			return err
		}
		c.tables = append(c.tables, t)
		if c.opt.Operation == sets.Union && !t.inputs[0].sameSchema(c.tables[0].inputs[0]) {
			return fmt.Errorf("%s: its schema differs from the one of %s", t.label(), c.tables[0].label())
		}
	}
	if err := c.tables[0].orderOf(&c.opt.Options); err != nil {
		return err
	}
	for _, key := range c.opt.Keys {
		if key.Compute != "" {
			return fmt.Errorf("key %s: only sorts and checks compute keys: sort with Options.KeepKey, and use that column here",
				key.Compute)
		}
	}
	return nil
}

// ofTable returns the share of the memory for one table: half of the memory is for the output.
func (c *combination) ofTable() budget {
	m := c.budget
	m.columns /= int64(2 * len(c.opt.Inputs))
	return m
}

// setLayouts makes the layouts. Only the keys of tables are read whose other columns are not written.
func (c *combination) setLayouts() error {
	opt := c.opt
	for i, t := range c.tables {
		var err error
		if i == 0 || opt.Operation == sets.Union || opt.isJoin() {
			err = t.setLayout(t.inputs[0].columns(), opt.Keys, opt.NullsFirst)
		} else {
			err = t.setKeyLayout(opt.Keys, opt.NullsFirst)
		}
		if err != nil {
			return err
		}
	}
	first := c.tables[0]
	for _, t := range c.tables[1:] {
		if err := first.matchKeys(t); err != nil {
			return err
		}
	}
	if err := c.checkColumns(); err != nil {
		return err
	}
	s := &sample{}
	for _, in := range first.inputs[:min(len(first.inputs), sampledPlaces)] {
		if err := in.sample(s, first.layout, 1); err != nil {
			return fmt.Errorf("%s: %w", in.label(), err)
		}
	}
	for i, t := range c.tables {
		if i > 0 && opt.Operation != sets.Union {
			s = &sample{}
		}
		t.place(s)
	}
	return c.checkLayouts()
}

// checkColumns returns an error if there is not enough memory for all columns of the tables and of the output.
func (c *combination) checkColumns() error {
	var all []*layout
	for _, t := range c.tables {
		all = append(all, t.layout)
	}
	if c.opt.isJoin() {
		return c.budget.checkColumns(append(all, all...)...)
	}
	return c.budget.checkColumns(append(all, all[0])...)
}

// matchKeys returns an error if the keys of two tables have different types. If a key can be null in one of
// them, both have an order byte.
func (t *table) matchKeys(other *table) error {
	for i, a := range t.layout.chosen {
		b := other.layout.chosen[i]
		_, isArrowA := t.inputs[0].(*arrowStream)
		_, isArrowB := other.inputs[0].(*arrowStream)
		if isArrowA != isArrowB || a.typeText() != b.typeText() || a.width != b.width {
			return fmt.Errorf("key %s is %s in %s and %s in %s: convert one of them", a.name, a.typeText(), t.label(),
				b.typeText(), other.label())
		}
		if a.maxLevel > 0 || b.maxLevel > 0 {
			a.hasOrder = true
			b.hasOrder = true
		}
	}
	return nil
}

// checkLayouts refuses what does not go with columns of variable width, whose rows can be several records.
func (c *combination) checkLayouts() error {
	opt := c.opt
	for i, t := range c.tables {
		hasPieces := false
		for _, v := range t.layout.variable {
			hasPieces = hasPieces || !v.isKey
		}
		switch {
		case hasPieces && opt.isJoin():
			return fmt.Errorf("%s: has strings besides the keys, which a join cannot write: use a semi or an anti join",
				t.label())
		case len(t.layout.variable) > 0 && opt.All && opt.Operation != sets.Union:
			return fmt.Errorf("%s: has strings, so SetOptions.All is only for a union: leave it out", t.label())
		case i > 1 && t.layout.recordSize != c.tables[1].layout.recordSize:
			return fmt.Errorf("%s: its keys differ from those of %s in whether they can be null: process them one by one",
				t.label(), c.tables[1].label())
		}
	}
	return nil
}

// run runs the operation and writes the output.
func (c *combination) run(ctx context.Context, w extsort.Sink) (report *extsort.Report, err error) {
	opt := c.opt
	first := c.tables[0]
	l := first.layout
	job := &sets.Job{
		Operation: opt.Operation,
		All:       opt.All,
		Record:    first.record(opt.Options),
		Resources: extsort.Resources{Memory: c.budget.engine, TempDirs: opt.TempDirs, Workers: opt.Workers},
	}
	if opt.isJoin() {
		if l, err = joinedLayout(first, c.tables[1]); err != nil {
			return nil, err
		}
		job.Columns = []string{"a", "b"}
		job.Presence = true
	}
	var sources []*source
	defer func() {
		for _, src := range sources {
			src.close()
		}
	}()
	for i, t := range c.tables {
		src := t.open(ctx, c.ofTable())
		sources = append(sources, src)
		c.addInput(job, i, src)
	}
	out := c.newSink(l, w)
	defer func() { err = errors.Join(err, out.close(err == nil)) }()
	job.Output = extsort.Output{Writer: out}
	done, err := sets.Run(ctx, *job)
	if done != nil {
		report = done.Report
	}
	for _, src := range sources {
		if src.failed != nil && ctx.Err() == nil {
			return report, src.failed
		}
	}
	if err != nil {
		return report, c.explain(err)
	}
	for _, t := range c.tables {
		if err := t.checkUnchanged(); err != nil {
			return report, err
		}
	}
	return report, nil
}

// addInput adds the records of a table to the job.
func (c *combination) addInput(job *sets.Job, index int, src *source) {
	t := c.tables[index]
	isWhole := index == 0 || c.opt.Operation == sets.Union
	one := extsort.Source{Reader: t.guarded(src, isWhole), Name: t.label()}
	if isWhole {
		job.Input.Sources = append(job.Input.Sources, one)
		job.Input.Raw = true
		return
	}
	if job.Right == nil {
		job.Right = &extsort.Input{Raw: true}
		job.RightRecord = t.record(c.opt.Options)
	}
	job.Right.Sources = append(job.Right.Sources, one)
}

// newSink returns a sink for the records of the result.
func (c *combination) newSink(l *layout, w extsort.Sink) *lateSink {
	first := c.tables[0].inputs[0]
	half := c.budget
	half.columns /= 2
	_, isArrow := first.(*arrowStream)
	floats := newFloatFacts(l)
	for i := range floats.columns { // the values are not known when the output begins
		floats.columns[i].Store(l.isFloatColumn(i))
	}
	return &lateSink{
		layout:    l,
		sizes:     half.sink(l, isArrow),
		pick:      Options{}.picker(),
		tiedBytes: half.tiedBytes(),
		open: func() (groupWriter, error) {
			return openWriter(w, first, l, c.opt.Options, floats, half)
		},
	}
}

// isFloatColumn reports whether the column with an index in the file has floats.
func (l *layout) isFloatColumn(index int) bool {
	for _, c := range l.columns {
		if c.index == index && len(c.fields) > 0 {
			return c.isFloat()
		}
	}
	return false
}

// explain adds to an error about disorder how to sort the input.
func (c *combination) explain(err error) error {
	disorder, ok := errors.AsType[*extsort.DisorderError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("%s: is not sorted by %s: sort it first", disorder.File,
		namesOf(c.tables[0].layout.chosen))
}

// joinedLayout returns the layout of the rows of a join: the record of A, the record of B, and a byte with the
// bits 1 for A and 2 for B. The columns of B can be null in a row without B.
func joinedLayout(a, b *table) (*layout, error) {
	l := &layout{
		chosen:     a.layout.chosen,
		order:      a.layout.order,
		desc:       a.layout.desc,
		recordSize: a.layout.recordSize + b.layout.recordSize + 1,
	}
	l.columns = append(l.columns, a.layout.columns...)
	for _, from := range b.layout.columns {
		if slices.Contains(b.layout.chosen, from) {
			continue
		}
		c := *from
		if from.maxLevel > 1 {
			return nil, fmt.Errorf("%s: column %s is in a group, which a join cannot write: leave it out", b.label(), c.name)
		}
		c.index = len(l.columns)
		c.offset += a.layout.recordSize
		c.levelPlace += a.layout.recordSize
		if c.maxLevel == 0 {
			c.levelPlace = l.recordSize - 1
			c.levelMask = 2
		}
		c.maxLevel = 1
		for isTaken(l.columns, c.name) {
			c.name += "_b"
		}
		l.columns = append(l.columns, &c)
		l.added = append(l.added, &c)
	}
	return l, nil
}

func isTaken(columns []*column, name string) bool {
	return slices.ContainsFunc(columns, func(c *column) bool { return c.name == name })
}
