package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/merge"
	"github.com/extsort/extsort/merge/output"
	"github.com/extsort/extsort/merge/sets"
)

// SetOptions describes a set operation on sorted inputs. See package sets for its meaning.
type SetOptions struct {
	Operation sets.Operation
	All       bool // count occurrences as SQL's ALL does
	Sort      bool // sort each input first

	// Inputs describes all inputs and the output. Without Right, all inputs have the same layout,
	// and Part selects a range of the keys.
	Inputs MergeOptions

	// Right describes the inputs after the first if their layout differs. Only its options about
	// inputs are used.
	Right *MergeOptions

	JoinType sets.JoinType   // type of a join
	Rows     sets.RowOptions // rows of a join

	// OnlyA, OnlyB and Both are the names of outputs of Compare; "": none, "-": Inputs.Stdout.
	OnlyA, OnlyB, Both string
}

// A SetReport describes a finished set operation.
type SetReport struct {
	*Report
	*sets.Counts // counts of Compare; nil for other operations
}

// A combination is a set operation.
type combination struct {
	opt   SetOptions
	left  *session
	right *session // nil unless Right is set
	extra []*engine.Run
	files output.Bundle     // of extra
	join  *sets.JoinOptions // nil unless the operation is a join
}

// Combine runs a set operation. If an input is not sorted, Combine returns a *DisorderError.
func Combine(ctx context.Context, opt SetOptions) (*SetReport, error) {
	if err := cmp.Or(opt.checkOutputs(), opt.checkInputs()); err != nil {
		return nil, err
	}
	reading, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	if opt.Sort {
		stop, err := opt.sortInputs(ctx, interrupt)
		if err != nil {
			return nil, err
		}
		defer stop()
	}
	c := &combination{opt: opt}
	var counts sets.Counts
	report, err := opt.Inputs.options().into(ctx, func(ctx context.Context, left Options) (*Report, error) {
		left.merge.setOperation = true
		if err := c.open(reading, left); err != nil {
			return nil, err
		}
		c.left.run.Interrupt = interrupt
		err := safely.Call(func() (err error) {
			counts, err = c.run(ctx)
			return err
		})
		return c.finish(ctx, c.nameDisorder(ctx, err))
	})
	result := &SetReport{Report: report}
	if opt.Operation == sets.Compare {
		result.Counts = &counts
	}
	if report == nil {
		result = nil
	}
	return result, err
}

// checkInputs returns an error if two inputs are the same pipe. Inputs that are sorted, and those of
// Right, are opened separately.
func (opt *SetOptions) checkInputs() error {
	left := opt.Inputs.options()
	all := left.sources()
	if opt.Right != nil {
		right := opt.Right.options()
		all = append(all, right.sources()...)
	}
	return input.CheckPipes(all, opt.Inputs.Stdin)
}

// sortInputs replaces each input with a stream of its sorted records. stop ends the sorts. If a sort
// fails, fail is called, because the operation may be waiting for another one.
func (opt *SetOptions) sortInputs(ctx context.Context, fail func(error)) (stop func(), err error) {
	left := opt.Inputs.options()
	if err := left.Validate(); err != nil {
		return nil, err
	}
	if opt.Inputs.Part.N > 0 {
		return nil, option.Errorf(option.Part, " needs inputs that are sorted already: sort them first")
	}
	if opt.Inputs.KeepHeader {
		return nil, option.Errorf(option.KeepHeader, " needs inputs that are sorted already: sort them first")
	}
	n := len(left.sources())
	if opt.Right != nil {
		right := *opt.Right
		right.TempDirs = opt.Inputs.TempDirs
		right.Workers = opt.Inputs.Workers
		opt.Right = &right
		ofRight := right.options()
		n += len(ofRight.sources())
	}
	p, err := newPresort(opt.Inputs.MemoryBytes, n)
	if err != nil {
		return nil, err
	}
	p.fail = fail
	ctx, p.cancel = context.WithCancel(ctx)
	p.start(ctx, &opt.Inputs)
	if opt.Right != nil {
		p.start(ctx, opt.Right)
	}
	return p.stop, nil
}

// open opens the inputs. After an error nothing is left open.
func (c *combination) open(ctx context.Context, left Options) (err error) {
	if c.left, err = begin(ctx, left, true); err != nil {
		return err
	}
	if c.opt.Right != nil {
		right := *c.opt.Right
		right.MemoryBytes = left.MemoryBytes
		right.TempDirs = left.TempDirs
		right.Output = left.Output // to know whether it replaces an input
		right.Stdout = left.Stdout
		right.Warn = left.Warn
		right.Logger = left.Logger
		if c.right, err = begin(ctx, right.options(), true); err != nil {
			return errors.Join(err, c.left.close())
		}
	}
	err = safely.Call(c.prepare)
	if err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

// prepare checks that the inputs can be combined, and makes the plan.
func (c *combination) prepare() error {
	sessions := []*session{c.left}
	if c.right != nil {
		sessions = append(sessions, c.right)
		a := c.left.run.Input.Keyer.Layout()
		b := c.right.run.Input.Keyer.Layout()
		if !sets.Comparable(a, b) {
			return fmt.Errorf("the keys of %s and %s have different %s", c.left.run.Input.Files[0].Name,
				c.right.run.Input.Files[0].Name, keyDifference(a, b))
		}
		if c.opt.Operation == sets.Union {
			return errors.New("a union writes records of all inputs, so they must have the same layout")
		}
	}
	if c.opt.Operation == sets.Join {
		if err := c.prepareJoin(); err != nil {
			return err
		}
	}
	for _, s := range sessions {
		if err := s.prepareMerge(); err != nil {
			return err
		}
		s.run.Facts.Request.Selects = true
	}
	return nil
}

// prepareJoin determines the rows of a join.
func (c *combination) prepareJoin() error {
	if c.left.opt.KeepHeader {
		return option.Errorf(option.KeepHeader, " does not apply to a join: its rows have no header")
	}
	a := c.left.run.Input.Header
	b := a
	if c.right != nil {
		b = c.right.run.Input.Header
	}
	row, err := sets.NewRow(a, b, c.opt.Rows)
	if err != nil {
		return err
	}
	c.join = &sets.JoinOptions{Type: c.opt.JoinType, Row: row}
	c.left.rowBytes = row.Size
	return nil
}

// keyTypes returns the types and directions of the key fields of a layout.
func keyTypes(l format.Layout) (types []string) {
	for _, f := range l.Key {
		name := f.Type.String()
		if f.Desc {
			name += ":desc"
		}
		types = append(types, name)
	}
	return types
}

// keyDifference names the property in which the keys of two layouts differ. REQUIRES: they are not
// comparable
func keyDifference(a, b format.Layout) string {
	both := fmt.Sprintf("%v and %v", keyTypes(a), keyTypes(b))
	aligned := slices.Clone(b.Key)
	agree := func(align func(to *format.Field, from format.Field)) bool {
		for i := range min(len(a.Key), len(aligned)) {
			align(&aligned[i], a.Key[i])
		}
		return sets.Comparable(a, format.Layout{RecordSize: b.RecordSize, Key: aligned})
	}
	switch {
	case agree(func(to *format.Field, from format.Field) { to.Desc = from.Desc }):
		return "directions: " + both
	case agree(func(to *format.Field, from format.Field) {
		to.NaN = from.NaN
		to.NaT = from.NaT
		to.Numeric = from.Numeric
	}):
		return fmt.Sprintf("orders of NaNs or zeros: give the same %v and %v for both", option.NaN, option.Float)
	}
	return fmt.Sprintf("types: %s: check %v of both inputs", both, option.Keys)
}

// run opens the outputs and runs the operation.
func (c *combination) run(ctx context.Context) (counts sets.Counts, err error) {
	opt := sets.Options{Operation: c.opt.Operation, All: c.opt.All, Join: c.join}
	ofB := c.left
	if c.right != nil {
		ofB = c.right
	}
	if c.opt.Operation != sets.Compare {
		if err := c.left.openOutput(ctx); err != nil {
			return counts, err
		}
	}
	for _, out := range []struct {
		name string
		of   *session
		set  func(*engine.Output)
	}{
		{c.opt.OnlyA, c.left, func(o *engine.Output) { opt.Outputs.OnlyA = o }},
		{c.opt.OnlyB, ofB, func(o *engine.Output) { opt.Outputs.OnlyB = o }},
		{c.opt.Both, c.left, func(o *engine.Output) { opt.Outputs.Both = o }},
	} {
		if out.name == "" {
			continue
		}
		run, err := out.of.anotherOutput(ctx, out.name, &c.files, c.left.run.Meter)
		if err != nil {
			return counts, err
		}
		c.extra = append(c.extra, run)
		out.set(run.Output)
	}
	if c.right != nil {
		return engine.Combine(ctx, opt, c.left.run, c.right.run)
	}
	return engine.Combine(ctx, opt, c.left.run)
}

// anotherOutput returns a run that reads the inputs of the session and writes to an output of its
// own, which gets its name together with the other files of the bundle.
func (s *session) anotherOutput(
	ctx context.Context, name string, files *output.Bundle, meter *engine.Meter,
) (*engine.Run, error) {
	opt := s.opt
	opt.Output = name
	other := &session{opt: opt, bundle: files, run: &engine.Run{
		Input: s.run.Input,
		Plan:  s.run.Plan,
		Facts: factsOf(&opt, s.run.Input),
		Meter: meter,
		Store: s.run.Store,
		Warn:  s.run.Warn,
	}}
	other.run.Facts.Request.Selects = true
	return other.run, other.openOutput(ctx)
}

// nameDisorder turns an error about disorder into a *DisorderError.
func (c *combination) nameDisorder(ctx context.Context, err error) error {
	disorder, ok := errors.AsType[*merge.DisorderError](err)
	if !ok {
		return err
	}
	s := c.left
	if n := len(s.run.Input.Files); disorder.Input >= n {
		disorder.Input -= n
		s = c.right
	}
	return s.nameDisorder(ctx, err)
}

// finish completes the outputs if err is nil, and otherwise discards them. It closes the inputs.
func (c *combination) finish(ctx context.Context, err error) (*Report, error) {
	if c.right != nil && err == nil {
		err = safely.Call(func() error {
			in := c.right.run.Input
			return errors.Join(in.Data.Check(c.right.run.Warn), input.CloseReplaced(in.Files))
		})
	}
	runs := c.extra
	if c.left.run.Output != nil {
		runs = append(runs, c.left.run)
	}
	if len(runs) == 0 && err == nil {
		err = safely.Call(func() error { return c.left.run.Input.Data.Check(c.left.run.Warn) })
	}
	for _, run := range runs {
		err = run.Finish(ctx, err)
	}
	if err == nil {
		err = safely.Call(func() error { return c.files.Commit(ctx) })
	}
	err = errors.Join(err, c.files.Abort())
	if c.right != nil {
		err = c.right.end(err)
	}
	err = c.left.end(err)
	report := c.left.report()
	if c.right != nil {
		records := c.right.run.Input.Records()
		report.Records += records
		report.BytesRead += records * int64(c.right.run.Input.Header.Layout().RecordSize)
		report.BytesSpilled += c.right.run.Result.BytesSpilled
	}
	for _, run := range c.extra {
		report.RecordsOut += run.Output.Records()
		report.BytesWritten += run.Output.Records() * int64(run.Output.Size)
	}
	return report, err
}

func (c *combination) close() error {
	err := c.left.close()
	if c.right != nil {
		err = errors.Join(err, c.right.close())
	}
	return err
}
