package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// output is the name of the file that every contender writes.
const output = "out"

// race generates the data of a workload and runs its contenders in turns.
func (shop *workshop) race(
	ctx context.Context, w workload, peers []peerProgram,
) (section, error) {
	s := section{
		Name:  w.Name,
		Title: w.Title,
		Size:  w.describeSize(shop.bytes),
		Bytes: w.bytes(shop.bytes),
	}
	shop.logf("%s: %s", w.Name, s.Size)
	in, err := shop.newInputs(ctx, w)
	defer in.remove()
	if err != nil {
		return s, err
	}
	contenders, left := shop.contenders(w, peers)
	s.LeftOut = left
	return s, raceLanes(ctx, in, &s, contenders)
}

// raceLanes runs contenders in turns and adds their results to a section.
func raceLanes(ctx context.Context, in *inputs, s *section, contenders []contender) error {
	lanes := make([]lane, len(contenders))
	for i, c := range contenders {
		lanes[i] = lane{contender: c}
	}
	for turn := range in.shop.runs + 1 {
		for i := range lanes {
			lanes[i].run(ctx, in, turn)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
	for i := range lanes {
		s.Results = append(s.Results, lanes[i].result(in))
	}
	s.relate()
	return nil
}

// contenders returns all contenders for the workload, and the reasons why some peers are left
// out.
func (shop *workshop) contenders(
	w workload, peers []peerProgram,
) (all []contender, left []string) {
	all = append(yardsticks(), ownContenders(w, shop.memories, shop.devices)...)
	for _, p := range peers {
		found, err := p.contenders(shop, w)
		if err != nil {
			left = append(left, fmt.Sprintf("%s: %v", p.name, err))
		}
		all = append(all, found...)
	}
	return all, left
}

// A lane is one contender and its runs so far.
type lane struct {
	contender
	seconds []float64 // without the first run
	peak    int64
	once    bool  // the first run was long and counts, and there are no further runs
	failed  error // if not nil, there are no further runs
}

// run makes one run. Turn 0 does not count, unless it takes long.
func (l *lane) run(ctx context.Context, in *inputs, turn int) {
	if l.failed != nil || l.once {
		return
	}
	m, err := l.sortAndCheck(ctx, in)
	if err != nil {
		l.failed = err
		in.shop.logf("  %s: %v", l.label(), err)
		return
	}
	in.shop.logf(
		"  run %d of %d: %-26s %8.3f s",
		turn,
		in.shop.runs,
		l.label(),
		m.seconds,
	)
	l.peak = max(l.peak, m.peak)
	l.count(turn, m.seconds, in.shop.long)
}

// count counts a run. The run of turn 0 counts only if it took longer than long seconds, unless long
// is 0. It is then the only run.
func (l *lane) count(turn int, seconds, long float64) {
	l.once = turn == 0 && long > 0 && seconds > long
	if turn > 0 || l.once {
		l.seconds = append(l.seconds, seconds)
	}
}

// sortAndCheck sorts and checks. It creates a new output and removes it afterwards, usually before
// it is written back to disk.
func (l *lane) sortAndCheck(
	ctx context.Context, in *inputs,
) (m measurement, err error) {
	name, err := l.ensureForms(ctx, in)
	if err != nil {
		return m, err
	}
	shop := in.shop
	defer func() { err = errors.Join(err, shop.removeOutputs()) }()
	if err := shop.settle(in.w.bytes(shop.bytes)); err != nil {
		return m, err
	}
	if l.inPlace {
		if err := in.copyTo(name, output); err != nil {
			return m, err
		}
	}
	m, err = shop.execute(ctx, l.script(name, output))
	if err != nil {
		return m, err
	}
	return m, l.checkOutput(ctx, in)
}

// ensureForms makes the files that the contender reads, and returns the name of the first one.
func (c *contender) ensureForms(ctx context.Context, in *inputs) (name string, err error) {
	if c.second != nil {
		if _, err := c.second.ensureForm(ctx, c.form); err != nil {
			return "", err
		}
	}
	return in.ensureForm(ctx, c.form)
}

// checkOutput returns an error if the output is wrong.
func (c *contender) checkOutput(ctx context.Context, in *inputs) error {
	if c.check != nil {
		return c.check(ctx, output)
	}
	return in.shop.check(ctx, in.w, *c, output, in.expected)
}

// removeOutputs removes the files that a run created.
func (shop *workshop) removeOutputs() error {
	var faults []error
	for _, file := range []string{output, "copy"} {
		if err := os.Remove(shop.path(file)); !errors.Is(err, os.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// label returns the name with the memory limit.
func (c contender) label() string {
	if c.memory == 0 {
		return c.name
	}
	return c.name + " -S " + exactSize(c.memory)
}

func (l *lane) result(in *inputs) result {
	r := result{
		Name:       l.name,
		Kind:       l.kind,
		Memory:     l.memory,
		Command:    l.script(in.name(l.form), output).String(),
		Seconds:    l.seconds,
		PeakMemory: l.peak,
	}
	if l.failed != nil {
		r.Failed = l.failed.Error()
		r.Seconds = nil
	}
	r.Summary = summarize(r.Seconds)
	return r
}
