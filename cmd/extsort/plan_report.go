package main

import (
	"fmt"
	"io"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// planContext contains facts that are shown with a plan but are not part of it.
type planContext struct {
	assumedOutput bool
	pipe          bool   // an input is a pipe, which was not read
	command       string // of the sort
}

// writePlan shows the parts of a plan that help a user decide: strategy, memory, disk, time and the
// command. With --explain, it shows everything.
func writePlan(
	w io.Writer, p *session.SortPlan, f *planFlags, shown planContext,
) {
	opt := &f.opt
	rows := []row{
		{"records", planRecords(p) + textIf(
			f.assumed.records+f.assumed.bytes > 0, ", assumed to be random",
		) +
			textIf(
				shown.pipe,
				"; assumed to be random, because a plan does not read pipes",
			)},
		{"strategy", string(p.Strategy) + textIf(
			p.Chunks > 1, ", %s", plural(p.Chunks, "chunk"),
		) + ": " +
			p.Strategy.Properties().Way},
	}
	rows = append(rows, planTransitions(p, false)...)
	writeRows(w, append(rows, []row{
		{"memory", "at most " + human.Bytes(p.MemoryLimit) + textIf(
			p.Unified, ", including the buffers of the device",
		) +
			textIf(
				p.UnusedMemory > 0,
				"; %s of it stays unused, which is faster here",
				human.Bytes(p.UnusedMemory),
			)},
		{"output", planOutput(p, opt) + textIf(
			shown.assumedOutput && planFills(p, opt),
			" (assumed, as there is no -o)",
		) +
			textIf(
				shown.assumedOutput && !planFills(p, opt),
				"assumed to be a file, as there is no -o",
			)},
		{"replaces", planReplaced(opt)},
		{"temporary", planSpill(p)},
		{"disk", planDisk(p, opt)},
		{"checkpoint", planCheckpoint(p)},
		{"time", planTime(p)},
		{"command", shown.command},
	}...))
	if f.report.explain {
		explainPlan(w, p)
	}
}

// planTransitions returns a row for each condition on which another strategy takes over during the
// run. If parts is set, it describes the conditions for a part of a partition.
func planTransitions(p *session.SortPlan, parts bool) (rows []row) {
	if len(p.Considered) == 0 {
		return nil
	}
	for _, t := range p.Considered[0].Transitions {
		if t.Part == parts {
			rows = append(rows, row{"or", t.String()})
		}
	}
	return rows
}

// planTime returns the predicted time, with advice on how to improve the prediction.
func planTime(p *session.SortPlan) string {
	if p.Seconds == 0 {
		return "unknown until the input ends"
	}
	return human.About(p.Seconds) + textIf(
		!p.Rates.Measured, " at default rates (extsort tune measures yours)",
	)
}

func planRecords(p *session.SortPlan) string {
	if p.Records < 0 {
		return "unknown until the input ends"
	}
	return fmt.Sprintf("%s of %s, %s",
		humanize.Comma(p.Records), plural(p.RecordSize, "byte"), human.Bytes(
			p.Records*int64(p.RecordSize),
		))
}
