package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort"
)

func (a *app) planCommand() *cobra.Command {
	var f sortFlags
	cmd := verb("plan [flags] [FILE ...]",
		"Show what a sort with these flags would do and what that is expected to cost, and do nothing.",
		"  extsort plan -t u64 -S 1G keys.bin\n  extsort plan -R 100 -k 0:bytes10 --strategy merge -o out in",
		f.groups(), nil)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return a.plan(cmd.Context(), &f, files) }
	return cmd
}

func (a *app) plan(ctx context.Context, f *sortFlags, files []string) error {
	if err := f.contradictions(files); err != nil {
		return err
	}
	if f.mode.checking() || f.mode.merge {
		return fmt.Errorf("plan: only a sort is planned; leave -c, -C and -m out")
	}
	p, err := extsort.Plan(ctx, f.options(a, files))
	if err != nil {
		return err
	}
	if f.report.stats == "json" {
		return writeJSON(a.stdout, p)
	}
	return writePlan(a.stdout, p)
}

func writePlan(w io.Writer, p *extsort.SortPlan) error {
	err := writeRows(w, []row{
		{"records", planRecords(p)},
		{"layout", p.Layout},
		{"memory", humanBytes(p.MemoryLimit)},
		{"device", fmt.Sprintf("%s, %s", p.Device, plural(int64(p.Workers), "worker"))},
		{"algorithm", p.Algorithm},
		{"strategy", planStrategy(p)},
		{"chunk", fmt.Sprintf("%s, %s", plural(p.ChunkRecords, "record"), humanBytes(p.ChunkRecords*int64(p.RecordSize)))},
		{"blocks", fmt.Sprintf("%s, first digit of %d bits", humanBytes(int64(p.BlockBytes)), p.DigitBits)},
		{"spill", planSpill(p)},
		{"rates", planRates(p.Rates)},
		{"expected", known(p.Seconds)},
	})
	if err != nil {
		return err
	}
	if err := writeStages(w, p.Stages); err != nil {
		return err
	}
	return writeConsidered(w, p)
}

func planRecords(p *extsort.SortPlan) string {
	if p.Records < 0 {
		return "known only when the input ends"
	}
	size := int64(p.RecordSize)
	return fmt.Sprintf("%s of %s, %s", commas(p.Records), plural(size, "byte"), humanBytes(p.Records*size))
}

func planStrategy(p *extsort.SortPlan) string {
	s := string(p.Strategy)
	if p.Chunks > 0 {
		s += ", " + plural(int64(p.Chunks), "chunk")
	}
	if p.MergeLevels > 0 {
		s += fmt.Sprintf(", %s of merging, fan-in up to %d", plural(int64(p.MergeLevels), "level"), p.FanIn)
	}
	return s
}

// planRates shows what the prediction is based on.
func planRates(r extsort.Rates) string {
	origin := "assumed"
	if r.Measured {
		origin = "measured"
	}
	perSecond := func(r float64) string { return humanBytes(int64(r)) + "/s" }
	return fmt.Sprintf("%s (%s), for one worker: read %s, write %s, copy %s, sort %.1f ns a key, gather %.0f ns, "+
		"scatter %.1f ns a record, merge %.1f ns a key and level; disk %s",
		origin, r.Machine, perSecond(r.ReadBytes), perSecond(r.WriteBytes), perSecond(r.CopyBytes),
		r.SortNanoseconds, r.GatherNanoseconds, r.ScatterNanoseconds, r.MergeNanoseconds, perSecond(r.DiskBytes))
}

func planSpill(p *extsort.SortPlan) string {
	switch {
	case p.TempBytes == 0:
		return "none"
	case p.TempBytes < 0:
		return "as much as does not fit memory, in " + strings.Join(p.TempDirs, ", ")
	}
	spill := humanBytes(p.TempBytes) + " in " + strings.Join(p.TempDirs, ", ")
	if p.StoredBytes > 0 {
		spill += ", packed to about " + humanBytes(p.StoredBytes)
	}
	if p.KeptBytes > 0 {
		spill += "; " + humanBytes(p.KeptBytes) + " stay in memory"
	}
	return spill
}

func writeStages(w io.Writer, stages []extsort.Stage) error {
	if len(stages) == 0 || stages[0].Bytes <= 0 { // the size of the input is not known
		return nil
	}
	fmt.Fprintln(w)
	lines := [][]string{{"stage", "bytes", "predicted", "rate"}}
	for _, s := range stages {
		lines = append(lines, []string{s.Name, humanBytes(s.Bytes), known(s.Seconds), rate(s.Bytes, s.Seconds)})
	}
	return writeTable(w, lines)
}

// writeConsidered lists the strategies that the planner weighed.
func writeConsidered(w io.Writer, p *extsort.SortPlan) error {
	if len(p.Considered) == 0 {
		return nil
	}
	rows := []row{}
	for _, c := range p.Considered {
		text := "-"
		switch {
		case !c.Possible:
			text = "not possible"
		case p.Records >= 0:
			text = known(c.Seconds)
		}
		if c.Why != "" {
			text += "  " + c.Why
		}
		rows = append(rows, row{"  " + string(c.Strategy), text})
	}
	fmt.Fprintln(w, "\nconsidered")
	return writeRows(w, rows)
}
