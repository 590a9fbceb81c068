package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/profile"
)

func (a *app) planCommand() *cobra.Command {
	var f planFlags
	g := newGroup("In place of FILE")
	g.add(size(&f.made.records, "COUNT", parseCount), "records,n",
		"plan for COUNT records with random keys, without a file; with FILE, the number of records in each input, as "+
			"in a sort")
	g.add(size(&f.made.bytes, "SIZE", parseByteLimit), "size", "the same for SIZE bytes of records")
	return verb("plan [flags] [FILE ...]",
		"Show how a sort with these flags would run and what it would need, without\n"+
			"sorting. Without -o, the plan assumes an output file next to the input.",
		"  extsort plan -t u64 -S 1G keys.bin\n  extsort plan -R 100 -k 0:bytes10 --strategy merge -o out in\n"+
			"  extsort plan -t u64 --size 500G",
		append([]group{g}, f.planGroups()...),
		func(cmd *cobra.Command, files []string) error { return a.plan(cmd.Context(), &f, files) })
}

// planFlags are those of the sort and, where it has no input, what that would be.
type planFlags struct {
	sortFlags
	made genFlags
}

// plan plans for the inputs or, where there are none, for as many records as are said.
func (f *planFlags) plan(ctx context.Context, opt extsort.Options) (*extsort.SortPlan, error) {
	if len(opt.Inputs) > 0 && f.made.bytes == 0 {
		opt.Records = f.made.records
		f.made.records = 0
	}
	if f.made.records+f.made.bytes == 0 {
		return extsort.Plan(ctx, opt)
	}
	if len(opt.Inputs) > 0 {
		return nil, fmt.Errorf("plan: --size is for planning without a file: leave out --size or %s", opt.Inputs[0])
	}
	f.made.record = opt.Record
	_, records, err := f.made.data()
	if err != nil {
		return nil, err
	}
	return extsort.PlanFor(ctx, opt, records)
}

// assumedOutput is where the sort is taken to write without -o: most who plan one want a file.
func assumedOutput(files []string) string {
	if len(files) == 0 || files[0] == "-" || strings.Contains(files[0], "://") {
		return "sorted"
	}
	return files[0] + ".sorted"
}

func (a *app) plan(ctx context.Context, f *planFlags, files []string) error {
	files, err := f.named(files, a.stdin)
	if err != nil {
		return err
	}
	f.guess(files)
	if err := f.contradictions(files); err != nil {
		return err
	}
	if dir := filepath.Dir(f.opt.Output); !strings.Contains(f.opt.Output, "://") {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("plan: output %s: its directory %s does not exist: create it first", f.opt.Output, dir)
		}
	}
	assumed := f.opt.Output == ""
	if assumed {
		f.opt.Output = assumedOutput(files)
	}
	if err := f.report.open(ctx, f.places(a, files)); err != nil {
		return err
	}
	defer f.report.side.drop()
	p, err := f.plan(ctx, f.options(a, files))
	if err != nil {
		return placed(err, f.opt.SkipBytes)
	}
	if file, ok := f.report.json(); file != "" {
		return f.report.side.write(ctx, func(w io.Writer) error { return writeObject(w, p, nil) })
	} else if ok {
		return writeObject(a.out, p, nil)
	}
	if c := p.Checkpoint; c != nil && c.Complete {
		fmt.Fprintf(a.out, "the output is complete, and only %s remains to be removed: run the sort\n", c.Folder)
		return nil
	}
	writePlan(a.out, p, f, assumed, len(f.pipes(a, files)) > 0)
	return nil
}

// pipes returns the inputs that a plan does not read, since their bytes would be missing in the sort.
func (f *planFlags) pipes(a *app, files []string) []string {
	if f.made.records+f.made.bytes > 0 {
		return nil
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		source := input.Source{Name: name}
		return !source.IsConsumed(a.stdin)
	})
}

func writePlan(w io.Writer, p *extsort.SortPlan, f *planFlags, assumed, pipe bool) {
	opt, size := &f.opt, int64(p.RecordSize)
	writeRows(w, []row{
		{"records", planRecords(p)},
		{"assumed", when(f.made.records+f.made.bytes > 0, "random keys in random order, in a file on a disk")},
		{"assumed", when(pipe, "random keys in random order: a plan does not read a pipe")},
		{"layout", p.Layout},
		{"memory", humanBytes(p.MemoryLimit) + when(p.Unified, ", the device's buffers included") +
			when(p.UnusedMemory > 0, ", of which %s are left alone: to touch them takes longer than it saves",
				humanBytes(p.UnusedMemory))},
		{"device", p.Device + ", " + plural(p.Workers, "worker")},
		{"algorithm", p.Algorithm},
		{"digits", when(p.DigitBits > 0, "%s", plural(p.DigitBits, "bit"))},
		{"strategy", string(p.Strategy) + when(p.Chunks > 0, ", %s", plural(p.Chunks, "chunk")) +
			when(p.MergeLevels > 0, ", %s of merging, fan-in up to %d", plural(p.MergeLevels, "level"), p.FanIn)},
		{"chunk", when(p.Chunks != 1, "%s, %s", plural(p.ChunkRecords, "record"), humanBytes(p.ChunkRecords*size))},
		{"blocks", humanBytes(int64(p.BlockBytes))},
		{"spill", planSpill(p)},
		{"output", planOutput(p, opt)},
		{"past cache", planPast(p)},
		{"assumed", when(assumed, "the output is a file, as there is no -o (-o - is standard output)")},
		{"replaces", planReplaced(opt)},
		{"checkpoint", planCheckpoint(p)},
		{"rates", planRates(p.Rates)},
		{"expected", known(p.Seconds) +
			when(!p.Rates.Measured, ", by the rates of another machine (extsort tune measures this)")},
	})
	if len(p.Stages) > 0 && p.Stages[0].Bytes > 0 { // else the size of the input is not known
		lines := [][]string{{"stage", "bytes", "predicted", "rate"}}
		for _, s := range p.Stages {
			lines = append(lines, []string{s.Name, humanBytes(s.Bytes), known(s.Seconds), rate(s.Bytes, s.Seconds)})
		}
		fmt.Fprintln(w)
		writeTable(w, lines)
	}
	if len(p.Considered) > 0 {
		writeConsidered(w, p)
	}
}

func planRecords(p *extsort.SortPlan) string {
	if p.Records < 0 {
		return "known only when the input ends"
	}
	return fmt.Sprintf("%s of %s, %s",
		humanize.Comma(p.Records), plural(p.RecordSize, "byte"), humanBytes(p.Records*int64(p.RecordSize)))
}

func planRates(r extsort.Rates) string {
	origin := map[bool]string{true: "measured", false: "assumed"}[r.Measured]
	return fmt.Sprintf("%s (%s), for one worker: read %s, write %s, copy %s, sort %.1f ns a key, gather %.0f ns, "+
		"scatter %.1f ns a record, merge %.1f ns a key and level; disk %s",
		origin, r.Machine, perSecond(r.ReadBytes), perSecond(r.WriteBytes), perSecond(r.CopyBytes),
		r.SortNanoseconds, r.GatherNanoseconds, r.ScatterNanoseconds, r.MergeNanoseconds, perSecond(r.DiskBytes))
}

func planSpill(p *extsort.SortPlan) string {
	folders := " in " + strings.Join(p.TempDirs, ", ")
	switch {
	case p.TempBytes == 0:
		return "none"
	case p.TempBytes < 0:
		return "as much as does not fit memory," + folders
	}
	return humanBytes(p.TempBytes) + folders +
		when(p.StoredBytes > 0, ", packed to about %s", humanBytes(p.StoredBytes)) +
		when(p.KeptBytes > 0, "; %s stay in memory", humanBytes(p.KeptBytes))
}

// planOutput tells the size of an output file, and what it takes of a disk together with the spill.
func planOutput(p *extsort.SortPlan, opt *extsort.Options) string {
	bytes := p.OutputBytes
	if opt.Output == "" || opt.Output == "-" || bytes < 0 {
		return ""
	}
	codec, _ := format.ParseCompression(opt.Compress, opt.Output) // the plan was made with it: it is a good one
	return when(opt.Unique || opt.Duplicates, "at most ") + humanBytes(bytes) + " in " +
		when(opt.SplitFiles > 0, "%s named after ", plural(opt.SplitFiles, "file")) +
		when(opt.SplitBytes > 0, "files of %s named after ", humanBytes(opt.SplitBytes)) + opt.Output +
		when(codec != format.None, ", before compression by %s", codec) +
		when(p.TempBytes > 0 && sharesDisk(opt.Output, p.TempDirs), "; with spill on the same disk up to %s",
			humanBytes(bytes+p.TempBytes))
}

// sharesDisk reports whether the output and temporary directories are on one disk.
func sharesDisk(output string, folders []string) bool {
	disks := profile.Load()
	disk := disks.DiskOf(output)
	return slices.ContainsFunc(folders, func(folder string) bool {
		other := disks.DiskOf(folder)
		return other.Is(&disk)
	})
}

// planPast tells what goes past the page cache.
func planPast(p *extsort.SortPlan) string {
	q := &p.Sizes.Queue
	return when(q.Requests > 0 && p.TempBytes != 0, "%sspill%s, by %s of %s", when(q.Input, "input, "),
		when(q.Output, ", output"), plural(q.Requests, "request"), humanBytes(int64(q.Bytes)))
}

// planReplaced tells what becomes of a file that is there already. A device or a pipe is written to, not replaced.
func planReplaced(opt *extsort.Options) string {
	name, split := opt.Output, opt.SplitFiles > 0 || opt.SplitBytes > 0
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || split {
		return ""
	}
	return fmt.Sprintf("%s, %s, when the new file is complete: mode and, where allowed, owner, group "+
		"and ACL are kept, other attributes are not; other hard links keep the old records",
		name, humanBytes(info.Size()))
}

func planCheckpoint(p *extsort.SortPlan) string {
	c := p.Checkpoint
	if c == nil {
		return ""
	}
	part := func(done int64) float64 { return 100 * float64(done) / float64(max(p.Records, 1)) }
	stage := cmp.Or(when(c.Records == p.Records, "merge"), "sort runs")
	return fmt.Sprintf("%s: ", c.Folder) + when(c.Runs == 0, "nothing is done yet") +
		when(c.Runs > 0, "%s with %.0f %% of the records are done, %s in it", plural(c.Runs, "run"), part(c.Records),
			humanBytes(c.StoredBytes)) +
		when(c.Written > 0, "; %.0f %% of the output are written", part(c.Written)) + when(c.Runs > 0, "; next: %s", stage)
}

func writeConsidered(w io.Writer, p *extsort.SortPlan) {
	rows := []row{}
	for _, c := range p.Considered {
		text := "-"
		switch {
		case !c.Possible:
			text = "not possible"
		case p.Records >= 0:
			text = known(c.Seconds)
		}
		rows = append(rows, row{"  " + string(c.Strategy), text + when(c.Why != "", "  %s", c.Why)})
	}
	fmt.Fprintln(w, "\nconsidered")
	writeRows(w, rows)
}
