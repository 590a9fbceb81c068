package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// demoRecord is the size of a record of the tour. Such large records rule out a multi-pass sort. So
// the tour shows the usual case for data larger than memory: it writes temporary data and reads it
// back.
const demoRecord = 32

// demoFlags contains the size of the tour's data.
type demoFlags struct {
	opt      session.Options // options of the sort
	size     int64
	folder   string
	progress string
}

func demoSizeFlags(g group, v *flagValues) {
	f := &v.demo
	f.size = 256 << 20
	v.opt.MemoryBytes = 64 << 20
	g.add(amount(&f.size, "SIZE", parseByteLimit), "size",
		"size of the data; needs three times as much free disk space; otherwise 256M").
		hints("bytes")
	g.add(
		amount(&v.opt.MemoryBytes, "SIZE", parseMemory),
		"buffer-size,S",
		"memory limit of the sort; otherwise 64M",
	).
		hints("memory", "mem", "ram")
	g.add(
		text(&f.folder, "DIR"),
		"temporary-directory,T",
		"write all files to DIR; otherwise TMPDIR, else /var/tmp",
	).
		hints("tmpdir", "tmp", "temp-dir").directory()
}

func (a *app) demoCommand() *cobra.Command {
	v := &flagValues{}
	return verb("demo [flags]",
		"Take the tour: generate records of 32 bytes with random 64-bit keys, sort them\n"+
			"in a quarter of the memory they need, verify the result, and clean up.",
		"", v, func(cmd *cobra.Command, _ []string) error {
			f := v.demo
			f.opt = v.opt
			f.progress = v.report.progress
			return a.demo(cmd.Context(), &f)
		})
}

func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	folder, err := os.MkdirTemp(
		cmp.Or(f.folder, spill.DefaultFolder()), "extsort-demo-",
	)
	if err != nil {
		return fmt.Errorf("demo: %w; name another directory with -T", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	f.opt.Inputs = []string{filepath.Join(folder, "keys")}
	f.opt.Output = filepath.Join(folder, "sorted")
	f.opt.Record = format.Spec{RecordSize: demoRecord, Keys: []string{"0:u64"}}
	f.opt.TempDirs = []string{folder}
	f.opt.Verify = true
	fmt.Fprintf(a.out, "A tour of extsort, in %s.\n\n", folder)
	return a.runTour(ctx, f, max(f.size/demoRecord, 1)*demoRecord)
}

func (a *app) runTour(ctx context.Context, f *demoFlags, bytes int64) error {
	spent, err := secondsOf(func() error {
		return a.gen(ctx, &genFlags{
			record: f.opt.Record, output: f.opt.Inputs[0], bytes: bytes, dist: "uniform", seed: 1,
			workers: f.opt.Workers, progress: f.progress,
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "1. generated  %s: %s of %d bytes with random keys\n",
		human.Bytes(bytes), plural(bytes/demoRecord, "record"), demoRecord)
	fmt.Fprintf(
		a.out,
		"              in %s, %s\n",
		human.Time(spent),
		human.Rate(bytes, spent),
	)

	progress := a.startBars(f.progress)
	f.opt.Progress = progress
	f.opt.MeasureMemory = true
	report, err := session.Sort(ctx, f.opt)
	progress.Close()
	if err != nil {
		return err
	}
	a.printSortSummary(report)
	return nil
}

func secondsOf(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

func (a *app) printSortSummary(r *session.Report) {
	sorting := r.Seconds
	verifying := 0.0
	for _, p := range r.Detail.Phases {
		if p.Name == plan.StageVerify {
			verifying += p.Seconds
		}
	}
	sorting -= verifying
	fmt.Fprintf(
		a.out,
		"2. sorted     in %s, %s\n",
		human.Time(sorting),
		human.Rate(r.BytesRead, sorting),
	)
	writeRows(a.out, []row{
		{"   memory  ", memoryText(&r.Detail)},
		{"   strategy", string(r.Strategy) + ": " + r.Strategy.Properties().Way},
		{"   disk", human.Bytes(r.BytesSpilled) + " of temporary data"},
		{"   device", r.Device},
	})
	fmt.Fprintf(
		a.out,
		"3. verified   in %s: the keys are in order, and no record is lost\n",
		human.Time(verifying),
	)
	fmt.Fprintln(
		a.out,
		"\nAll files of the tour have been removed. Next, look at one of your own files:",
	)
	fmt.Fprintln(a.out, "  extsort info FILE")
}
