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
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/session"
)

func (a *app) planCommand() *cobra.Command {
	v := &flagValues{}
	f := &planFlags{sortFlags: &v.sortFlags, assumed: &v.gen}
	return verb("plan [flags] [FILE ...]",
		"Show how a sort with these flags would run and what it would need. Nothing is\n"+
			"sorted. Without -o, the plan assumes an output file next to the input.\n"+
			"--explain adds the details and the other strategies.",
		"  extsort plan -t u64 -S 1G keys.bin\n  extsort plan -R 100 -k 0:bytes10 --strategy merge -o out in\n"+
			"  extsort plan -t u64 --size 500G",
		v, func(cmd *cobra.Command, files []string) error {
			return a.plan(cmd, f, files)
		})
}

// planInputFlags defines flags that describe an input that does not exist yet.
func planInputFlags(g group, v *flagValues) {
	g.add(amount(&v.gen.records, "COUNT", parseCount), "records,n",
		"plan for COUNT records with random keys, without a file; with FILE, read only the first COUNT records of "+
			"each input, as in a sort")
	g.add(amount(&v.gen.bytes, "SIZE", parseByteLimit), "size",
		"plan for SIZE bytes of records with random keys, without a file").notWith("-n")
}

// planExplainFlag defines --explain for a plan, which has no measured times.
func planExplainFlag(g group, v *flagValues) {
	g.bool(
		&v.report.explain,
		"explain",
		"also show the stages, the rates and the other strategies",
	)
}

// planFlags contains the flags of the sort, and the flags that describe an input that does not
// exist yet.
type planFlags struct {
	*sortFlags
	assumed *genFlags
}

// plan returns the plan for the inputs or, without inputs, for the number of records that --size
// or -n gives.
func (f *planFlags) plan(
	ctx context.Context, opt session.Options,
) (*session.SortPlan, error) {
	if len(opt.Inputs) > 0 && f.assumed.bytes == 0 {
		opt.Records = f.assumed.records
		f.assumed.records = 0
	}
	if f.assumed.records+f.assumed.bytes == 0 {
		return session.Plan(ctx, opt)
	}
	if len(opt.Inputs) > 0 {
		return nil, fmt.Errorf(
			"plan: --size is for planning without a file: leave out --size or %s",
			opt.Inputs[0],
		)
	}
	var err error
	if f.assumed.record, err = withFieldKeys(opt.Record); err != nil {
		return nil, err
	}
	_, records, err := f.assumed.headerAndRecords()
	if err != nil {
		return nil, err
	}
	return session.PlanFor(ctx, opt, records)
}

// assumedOutput returns the assumed output of a sort without -o: most users who plan a sort want
// a file.
func assumedOutput(files []string) string {
	if len(files) == 0 || files[0] == "-" || strings.Contains(files[0], "://") {
		return "sorted"
	}
	return files[0] + ".sorted"
}

func (a *app) plan(cmd *cobra.Command, f *planFlags, files []string) error {
	ctx := cmd.Context()
	files, err := f.inputNames(files, a.stdin)
	if err != nil {
		return err
	}
	f.guessFormat(files)
	if err := errors.Join(f.contradictions(files)...); err != nil {
		return err
	}
	if dir := filepath.Dir(f.opt.Output); !strings.Contains(f.opt.Output, "://") {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf(
				"plan: output %s: its directory %s does not exist: create it first",
				f.opt.Output,
				dir,
			)
		}
	}
	assumed := f.opt.Output == ""
	if assumed {
		f.opt.Output = assumedOutput(files)
	}
	if err := f.report.open(ctx, f.places(a, files)); err != nil {
		return err
	}
	defer f.report.side.discard()
	p, err := f.plan(ctx, f.options(a, files))
	if err != nil {
		return countedFrom(err, f.opt.SkipBytes)
	}
	if file, ok := f.report.json(); file != "" {
		return f.report.side.write(ctx, func(w io.Writer) error {
			return writeObject(w, p, nil)
		})
	} else if ok {
		return writeObject(a.out, p, nil)
	}
	if c := p.Checkpoint; c != nil && c.Complete {
		fmt.Fprintf(
			a.out,
			"the output is complete: run the sort once more to remove %s\n",
			c.Folder,
		)
		return nil
	}
	command, err := f.command(cmd.Flags(), a.args[1:], files, assumed)
	if err != nil {
		return err
	}
	writePlan(a.out, p, f, planContext{
		assumedOutput: assumed,
		pipe:          len(f.pipes(a, files)) > 0,
		command:       command,
	})
	return nil
}

// command returns a shell command that runs the planned sort. It consists of the flags of the plan
// and the assumed output. FILE represents an input that does not exist yet.
func (f *planFlags) command(
	flags *pflag.FlagSet, args, files []string, assumedOutput bool,
) (string, error) {
	withoutFile := f.assumed.records+f.assumed.bytes > 0
	words := []string{"extsort"}
	err := flags.ParseAll(args, func(flag *pflag.Flag, value string) error {
		switch {
		case slices.Contains([]string{"explain", "size"}, flag.Name), withoutFile &&
			flag.Name == "records":
		case flag.NoOptDefVal != "" && value == flag.NoOptDefVal:
			words = append(words, flagWord(flag))
		// -n is a flag of the plan only.
		case flag.NoOptDefVal != "" || flag.Shorthand == "" ||
			flag.Name == "records":
			words = append(words, "--"+flag.Name+"="+value)
		default:
			words = append(words, "-"+flag.Shorthand, value)
		}
		return nil
	})
	if assumedOutput {
		words = append(words, "-o", f.opt.Output)
	}
	switch {
	case withoutFile:
		words = append(words, "FILE")
	case f.names.file == "":
		words = append(words, files...)
	}
	return shellLine(words...), err
}

// flagWord returns a flag without its value: its letter, if it has one, or its name.
func flagWord(flag *pflag.Flag) string {
	if flag.Shorthand != "" {
		return "-" + flag.Shorthand
	}
	return "--" + flag.Name
}

// planContext contains facts that are shown with a plan but are not part of it.
type planContext struct {
	assumedOutput bool
	pipe          bool   // an input is a pipe, which was not read
	command       string // of the sort
}

// pipes returns the inputs that are pipes. A plan does not read them, because the bytes would be
// missing in the sort.
func (f *planFlags) pipes(a *app, files []string) []string {
	if f.assumed.records+f.assumed.bytes > 0 {
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

func planRecords(p *session.SortPlan) string {
	if p.Records < 0 {
		return "unknown until the input ends"
	}
	return fmt.Sprintf("%s of %s, %s",
		humanize.Comma(p.Records), plural(p.RecordSize, "byte"), human.Bytes(
			p.Records*int64(p.RecordSize),
		))
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

// planSpill returns the size and place of the temporary data.
func planSpill(p *session.SortPlan) string {
	folders := " in " + strings.Join(p.TempDirs, ", ")
	switch {
	case p.TempBytes == 0:
		return "none"
	case p.TempBytes < 0:
		return "all data that does not fit in memory," + folders
	}
	return human.Bytes(p.TempBytes) + folders + textIf(p.StoredBytes > 0, ", about %s when compressed",
		human.Bytes(p.StoredBytes))
}

// planOutput returns the size and place of an output file.
func planOutput(p *session.SortPlan, opt *session.Options) string {
	if !planFills(p, opt) {
		return ""
	}
	// The planner has already validated the compression.
	codec, _ := format.ParseCompression(opt.Compress, opt.Output)
	return textIf(
		opt.Unique || opt.Duplicates, "at most ",
	) + human.Bytes(p.OutputBytes) + " in " +
		textIf(
			opt.SplitFiles > 0,
			"%s named after ",
			plural(opt.SplitFiles, "file"),
		) +
		textIf(
			opt.SplitBytes > 0,
			"files of %s named after ",
			human.Bytes(opt.SplitBytes),
		) + opt.Output +
		textIf(codec != format.None, ", before compression with %s", codec)
}

// planFills reports whether the output is a file of a known size.
func planFills(p *session.SortPlan, opt *session.Options) bool {
	return opt.Output != "" && opt.Output != "-" && p.OutputBytes >= 0
}

// planDisk returns the free space that output and temporary data need if they are on one disk.
func planDisk(p *session.SortPlan, opt *session.Options) string {
	if p.TempBytes <= 0 || !planFills(p, opt) ||
		!sharesDisk(opt.Output, p.TempDirs) {
		return ""
	}
	return "needs up to " + human.Bytes(
		p.OutputBytes+p.TempBytes,
	) + " free: output and temporary data share a disk"
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

// planDirect lists the files that bypass the page cache.
func planDirect(p *session.SortPlan) string {
	q := &p.Sizes.Queue
	return textIf(q.Requests > 0 &&
		p.TempBytes != 0, "%stemporary data%s; %s of %s at once", textIf(q.Input, "input, "),
		textIf(q.Output, ", output"), plural(q.Requests, "request"), human.Bytes(int64(q.Bytes)))
}

// planReplaced describes what happens to an existing output file. A device or a pipe is written
// to, not replaced.
func planReplaced(opt *session.Options) string {
	name := opt.Output
	split := opt.SplitFiles > 0 || opt.SplitBytes > 0
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || split {
		return ""
	}
	return fmt.Sprintf(
		"%s, %s, when the new file is complete: mode and, where allowed, owner, group "+
			"and ACL are kept, other attributes are not; other hard links keep the old records",
		name,
		human.Bytes(info.Size()),
	)
}

func planCheckpoint(p *session.SortPlan) string {
	c := p.Checkpoint
	if c == nil {
		return ""
	}
	part := func(done int64) float64 {
		return 100 * float64(done) / float64(max(p.Records, 1))
	}
	stage := cmp.Or(textIf(c.Records == p.Records, "merge"), "sort runs")
	return fmt.Sprintf("%s: ", c.Folder) + textIf(
		c.Runs == 0, "nothing is done yet",
	) +
		textIf(c.Runs > 0, "%s with %.0f %% of the records are done (%s)", plural(c.Runs, "run"), part(c.Records),
			human.Bytes(c.StoredBytes)) +
		textIf(
			c.Written > 0,
			"; %.0f %% of the output is written",
			part(c.Written),
		) + textIf(c.Runs > 0, "; next: %s", stage)
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
