package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/format"
)

// demoFlags say how large the tour is.
type demoFlags struct {
	size     int64
	memory   int64
	folder   string
	devices  []string
	workers  int
	progress string
}

func (f *demoFlags) group() group {
	f.size, f.memory, f.workers, f.progress = 1<<30, 256<<20, processors, "auto"
	g := newGroup("Flags")
	g.flags.Var(size(&f.size, "SIZE", format.ParseSize), "size", "how much to sort; otherwise 1G. Three times that must be free on the disk")
	g.flags.VarP(size(&f.memory, "SIZE", parseMemory), "buffer-size", "S", "host memory for the sort; otherwise 256M")
	g.flags.VarP(single(&f.folder, "DIR"), "temporary-directory", "T", "work in DIR, not in TMPDIR or /var/tmp")
	g.flags.VarP(many(&f.devices, "DEVICE"), "device", "d", "sort on DEVICE: auto, cpu, gpu, a number or name of extsort devices; repeatable")
	g.flags.Var(number(&f.workers, "N", 1), "parallel", "worker threads; otherwise one for each processor")
	g.flags.Var(oneOf(&f.progress, "WHEN", "auto", "always", "never"), "progress", "progress bars on standard error; auto is only on a terminal")
	return g
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:  "demo [flags]",
		Long: "Take the tour: generate random 64-bit keys, sort them in less memory than they need, verify the result, report,\nand clean up.\n\nUsage:\n  extsort demo [flags]",
		Args: noOperands,
	}
	addGroups(cmd, f.group())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), &f) }
	return cmd
}

// tour is one run of the demo: its folder, and what it says on the way.
type tour struct {
	out      io.Writer
	unheard  error            // of the first line that could not be written
	progress extsort.Progress // nil: none
	input    string
	copied   string
	output   string
}

func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	folder, err := os.MkdirTemp(demoFolder(f.folder), "extsort-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w; name another folder with -T", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := &tour{
		out:   a.stdout,
		input: filepath.Join(folder, "keys"), copied: filepath.Join(folder, "copy"), output: filepath.Join(folder, "sorted"),
	}
	if shown := (&reportFlags{progress: f.progress}).bars(a); shown != nil {
		t.progress = shown
		defer shown.End()
	}
	return t.run(ctx, f, folder)
}

func demoFolder(named string) string {
	if named != "" {
		return named
	}
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}

// run goes the stations of the tour.
func (t *tour) run(ctx context.Context, f *demoFlags, folder string) error {
	records := max(f.size/8, 1)
	total := records * 8
	t.say("The tour of extsort, in %s.\n", folder)

	spent, err := t.generate(ctx, records, f.workers)
	if err != nil {
		return err
	}
	t.say("1. generated  %s of random 64-bit keys in %s, %s", humanBytes(total), seconds(spent), rate(total, spent))

	copying, err := t.copy(ctx, total)
	if err != nil {
		return err
	}
	t.say("2. copied     them as a yardstick in %s, %s", seconds(copying), rate(total, copying))

	report, err := extsort.Sort(ctx, extsort.Options{
		Inputs: []string{t.input}, Output: t.output, Record: format.Spec{Type: "u64"}, TempDirs: []string{folder},
		MemoryBytes: f.memory, Workers: f.workers, Devices: f.devices, Progress: t.progress, Verify: true,
	})
	if err != nil {
		return err
	}
	sorting := report.Seconds - phase(report, "verify")
	t.say("3. sorted     them with %s of memory in %s, %s", humanBytes(f.memory), seconds(sorting), rate(total, sorting))
	t.say("              by %s on %s, %s", report.Strategy, report.Device, told(report))

	if _, err := t.check(ctx, t.output); err != nil {
		return fmt.Errorf("demo: the output is wrong: %w", err)
	}
	t.say("4. verified   that they are in order and still the same keys")
	t.say("\nSorting took %.1f times as long as copying.%s", sorting/copying, hint(report))
	t.say("Everything is removed again. Your own file:  extsort -t u64 -o sorted.bin keys.bin")
	return t.unheard
}

// say prints a line. Its error is that of run.
func (t *tour) say(format string, args ...any) {
	if _, err := fmt.Fprintf(t.out, format+"\n", args...); t.unheard == nil {
		t.unheard = err
	}
}

func told(r *extsort.Report) string {
	s := fmt.Sprintf("%s, %s spilled", plural(int64(r.Chunks), "chunk"), humanBytes(r.BytesSpilled))
	if r.PeakMemory > 0 {
		s += fmt.Sprintf(", %s of memory at the peak", humanBytes(r.PeakMemory))
	}
	return s
}

// phase is the time that the phases of a name took.
func phase(r *extsort.Report, name string) (spent float64) {
	for _, p := range r.Phases {
		if p.Name == name {
			spent += p.Seconds
		}
	}
	return spent
}

// hint is what to say of a sort that had to spill, or to read again.
func hint(r *extsort.Report) string {
	switch {
	case r.BytesSpilled > 0:
		return fmt.Sprintf(" With %s it wrote and read the data twice.", humanBytes(r.MemoryLimit))
	case r.Strategy == extsort.Reread:
		return fmt.Sprintf(" With %s it read the data %d times.", humanBytes(r.MemoryLimit), r.Chunks)
	}
	return ""
}

func (t *tour) begin(phase string, total int64) (add func(int64), end func()) {
	if t.progress == nil {
		return nil, func() {}
	}
	t.progress.Begin(phase, total)
	return t.progress.Add, t.progress.End
}

func (t *tour) generate(ctx context.Context, records int64, workers int) (float64, error) {
	start := time.Now()
	header, err := format.Spec{Type: "u64"}.NewHeader()
	if err != nil {
		return 0, err
	}
	generator, err := format.NewGenerator(header.Layout(), "uniform", 1, records)
	if err != nil {
		return 0, err
	}
	job := generation{header: header, generator: generator, records: records, workers: workers}
	add, end := t.begin("generate", job.bytes())
	defer end()
	job.add = add
	err = writeFile(t.input, func(w io.Writer) error { return job.write(ctx, w) })
	return time.Since(start).Seconds(), err
}

// copy copies the input as cp does, but through this process, and as durably as a sort writes its output.
func (t *tour) copy(ctx context.Context, total int64) (float64, error) {
	start := time.Now()
	from, err := os.Open(t.input)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	add, end := t.begin("copy", total)
	defer end()
	err = writeFile(t.copied, func(w io.Writer) error { return copyBlocks(ctx, w, from, add) })
	return time.Since(start).Seconds(), errors.Join(err, os.Remove(t.copied))
}

func copyBlocks(ctx context.Context, w io.Writer, r io.Reader, add func(int64)) error {
	block := make([]byte, generationBlock)
	for ctx.Err() == nil {
		n, err := r.Read(block)
		if n > 0 {
			if _, err := w.Write(block[:n]); err != nil {
				return err
			}
		}
		if add != nil {
			add(int64(n))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

func (t *tour) check(ctx context.Context, name string) (*extsort.CheckReport, error) {
	return extsort.Check(ctx, extsort.Options{
		Inputs: []string{name}, Record: format.Spec{Type: "u64"}, Workers: processors, Progress: t.progress,
	})
}
