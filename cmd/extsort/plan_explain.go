package main

import (
	"fmt"
	"io"

	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// explainPlan shows the details of a plan, its stages, and the other strategies.
func explainPlan(w io.Writer, p *session.SortPlan) {
	size := int64(p.RecordSize)
	fmt.Fprintln(w)
	writeRows(w, append(planTransitions(p, true), []row{
		{"layout", p.Layout},
		{"device", p.Device + ", " + plural(p.Workers, "worker thread")},
		{"algorithm", p.Algorithm + textIf(
			p.DigitBits > 0, ", digits of %s", plural(p.DigitBits, "bit"),
		)},
		{"chunk", textIf(p.Chunks != 1, "up to %s, %s", plural(p.ChunkRecords, "record"),
			human.Bytes(p.ChunkRecords*size))},
		{"in memory", textIf(
			p.KeptBytes > 0,
			"%s of the last chunk, which are not spilled",
			human.Bytes(p.KeptBytes),
		)},
		{"merge", textIf(
			p.MergeLevels > 0,
			"%s, up to %d runs at once",
			plural(p.MergeLevels, "level"),
			p.FanIn,
		)},
		{"blocks", human.Bytes(int64(p.BlockBytes))},
		{"direct I/O", planDirect(p)},
		{"rates", planRates(p.Rates)},
	}...))
	if len(p.Stages) > 0 &&
		p.Stages[0].Bytes > 0 { // otherwise the size of the input is unknown
		lines := [][]string{{"stage", "bytes", "predicted", "rate"}}
		for _, s := range p.Stages {
			lines = append(
				lines,
				[]string{s.Name, human.Bytes(
					s.Bytes,
				), predictedTime(s.Seconds), human.Rate(s.Bytes, s.Seconds)},
			)
		}
		fmt.Fprintln(w)
		writeTable(w, lines)
	}
	if len(p.Considered) > 0 {
		writeConsidered(w, p)
	}
}

func planRates(r session.Rates) string {
	origin := map[bool]string{true: "measured", false: "default"}[r.Measured]
	return fmt.Sprintf(
		"%s (%s); one thread reads %s, writes %s, copies %s, sorts a key in %.1f ns, fetches a record "+
			"in %.0f ns, moves it to its part in %.1f ns, merges a key in %.1f ns per level; the disk transfers %s",
		origin,
		r.Machine,
		perSecond(r.ReadBytes),
		perSecond(r.WriteBytes),
		perSecond(r.CopyBytes),
		r.SortNanoseconds,
		r.GatherNanoseconds,
		r.ScatterNanoseconds,
		r.MergeNanoseconds,
		perSecond(r.DiskBytes),
	)
}

// planDirect lists the files that bypass the page cache.
func planDirect(p *session.SortPlan) string {
	q := &p.Sizes.Queue
	return textIf(q.Requests > 0 &&
		p.TempBytes != 0, "%stemporary data%s; %s of %s at once", textIf(q.Input, "input, "),
		textIf(q.Output, ", output"), plural(q.Requests, "request"), human.Bytes(int64(q.Bytes)))
}

func writeConsidered(w io.Writer, p *session.SortPlan) {
	rows := []row{}
	for _, c := range p.Considered {
		text := "-"
		switch {
		case !c.Possible:
			text = "ruled out"
		case p.Records >= 0:
			text = predictedTime(c.Seconds)
		}
		rows = append(
			rows,
			row{"  " + string(c.Strategy), text + textIf(
				c.Why != "", "  %s", c.Why,
			)},
		)
	}
	fmt.Fprintln(w, "\nstrategies, best first")
	writeRows(w, rows)
}
