package main

import (
	"cmp"
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
	f.size, f.memory, f.workers = 1<<30, 256<<20, processors
	g := newGroup("Flags")
	g.add(size(&f.size, "SIZE", format.ParseSize), "size",
		"how much to sort; otherwise 1G. Three times that must be free on the disk")
	g.add(size(&f.memory, "SIZE", parseMemory), "buffer-size,S", "host memory for the sort; otherwise 256M")
	g.add(single(&f.folder, "DIR"), "temporary-directory,T", "work in DIR, not in TMPDIR or /var/tmp")
	addDevices(g, &f.devices)
	addParallel(g, &f.workers)
	addProgress(g, &f.progress, "progress bars on standard error; auto is only on a terminal")
	return g
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	return verb("demo [flags]",
		"Take the tour: generate random 64-bit keys, sort them in less memory than they need, verify the result, report,"+
			"\nand clean up.",
		"", []group{f.group()}, func(ctx context.Context) error { return a.demo(ctx, &f) })
}

// tour is one run of the demo.
type tour struct {
	records               int64
	workers               int
	progress              *bars
	input, copied, output string
}

func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	folder, err := os.MkdirTemp(demoFolder(f.folder), "extsort-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w; name another folder with -T", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := &tour{
		records: max(f.size/8, 1), workers: f.workers, progress: a.bars(f.progress),
		input: filepath.Join(folder, "keys"), copied: filepath.Join(folder, "copy"), output: filepath.Join(folder, "sorted"),
	}
	defer t.progress.End()
	out := &heard{Writer: a.stdout}
	return cmp.Or(t.run(ctx, out, f, folder), out.err)
}

func demoFolder(named string) string {
	if _, err := os.Stat("/var/tmp"); err != nil {
		return cmp.Or(named, os.TempDir())
	}
	return cmp.Or(named, os.Getenv("TMPDIR"), "/var/tmp")
}

// run goes the stations of the tour.
func (t *tour) run(ctx context.Context, out io.Writer, f *demoFlags, folder string) error {
	total := t.records * 8
	fmt.Fprintf(out, "The tour of extsort, in %s.\n\n", folder)

	spent, err := timed(func() error { return t.generate(ctx) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "1. generated  %s of random 64-bit keys in %s, %s\n",
		humanBytes(total), seconds(spent), rate(total, spent))

	copying, err := timed(func() error { return t.copy(ctx, total) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "2. copied     them as a yardstick in %s, %s\n", seconds(copying), rate(total, copying))

	opt := extsort.Options{
		Inputs: []string{t.input}, Output: t.output, Record: format.Spec{Type: "u64"}, TempDirs: []string{folder},
		MemoryBytes: f.memory, Workers: f.workers, Devices: f.devices, Progress: t.progress, Verify: true,
	}
	report, err := extsort.Sort(ctx, opt)
	if err != nil {
		return err
	}
	sorting := report.Seconds - phase(report, "verify")
	fmt.Fprintf(out, "3. sorted     them with %s of memory in %s, %s\n",
		humanBytes(f.memory), seconds(sorting), rate(total, sorting))
	fmt.Fprintf(out, "              by %s on %s, %s\n", report.Strategy, report.Device, told(report))

	opt = extsort.Options{Inputs: []string{t.output}, Record: opt.Record, Workers: processors, Progress: t.progress}
	if _, err := extsort.Check(ctx, opt); err != nil {
		return fmt.Errorf("demo: the output is wrong: %w", err)
	}
	fmt.Fprintf(out, "4. verified   that they are in order and still the same keys\n")
	fmt.Fprintf(out, "\nSorting took %.1f times as long as copying.%s\n", sorting/copying, hint(report))
	fmt.Fprintf(out, "Everything is removed again. Your own file:  extsort -t u64 -o sorted.bin keys.bin\n")
	return nil
}

func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
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

func (t *tour) generate(ctx context.Context) error {
	header, err := format.Spec{Type: "u64"}.NewHeader()
	if err != nil {
		return err
	}
	generator, err := format.NewGenerator(header.Layout(), "uniform", 1, t.records)
	if err != nil {
		return err
	}
	job := generation{header, generator, t.records, t.workers, t.progress}
	return writeFile(t.input, func(w io.Writer) error { return job.write(ctx, w) })
}

// copy copies the input as cp does, but through this process, and as durably as a sort writes its output.
func (t *tour) copy(ctx context.Context, total int64) error {
	from, err := os.Open(t.input)
	if err != nil {
		return err
	}
	defer from.Close()
	t.progress.Begin("copy", total)
	defer t.progress.End()
	input := readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		n, err := from.Read(p)
		t.progress.Add(int64(n))
		return n, err
	})
	err = writeFile(t.copied, func(w io.Writer) error {
		_, err := io.CopyBuffer(onlyWriter{w}, input, make([]byte, generationBlock))
		return err
	})
	return errors.Join(err, os.Remove(t.copied))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
