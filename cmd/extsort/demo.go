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
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// demoFlags say how large the tour is.
type demoFlags struct {
	opt      extsort.Options // of the sort
	size     int64
	folder   string
	progress string
}

func (f *demoFlags) group() group {
	f.size, f.opt.MemoryBytes, f.opt.Workers = 1<<30, 256<<20, processors
	g := newGroup("Flags")
	g.add(size(&f.size, "SIZE", format.ParseSize), "size",
		"how much to sort; otherwise 1G. Three times that must be free on the disk")
	g.add(size(&f.opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S", "host memory for the sort; otherwise 256M")
	g.add(single(&f.folder, "DIR"), "temporary-directory,T", "work in DIR, not in TMPDIR or /var/tmp")
	addDevices(g, &f.opt.Devices)
	addParallel(g, &f.opt.Workers)
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

func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	folder, err := os.MkdirTemp(cmp.Or(f.folder, spill.DefaultFolder()), "extsort-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w; name another folder with -T", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	t := &tour{bytes: max(f.size/8, 1) * 8, keys: filepath.Join(folder, "keys"), progress: a.bars(f.progress)}
	defer t.progress.End()
	opt := f.opt
	opt.Inputs, opt.Output = []string{t.keys}, filepath.Join(folder, "sorted")
	opt.Record, opt.TempDirs, opt.Progress, opt.Verify = format.Spec{Type: "u64"}, []string{folder}, t.progress, true
	out := &heard{Writer: a.stdout}
	fmt.Fprintf(out, "The tour of extsort, in %s.\n\n", folder)
	return cmp.Or(t.run(ctx, out, opt), out.err)
}

// tour is one run of the demo.
type tour struct {
	bytes    int64
	keys     string // the file to sort
	progress *bars
}

// run goes the stations of the tour.
func (t *tour) run(ctx context.Context, out io.Writer, opt extsort.Options) error {
	spent, err := timed(func() error { return t.generate(ctx, opt.Workers) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "1. generated  %s of random 64-bit keys in %s, %s\n",
		humanBytes(t.bytes), seconds(spent), rate(t.bytes, spent))

	copying, err := timed(func() error { return t.copy(ctx) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "2. copied     them as a yardstick in %s, %s\n", seconds(copying), rate(t.bytes, copying))

	report, err := extsort.Sort(ctx, opt)
	if err != nil {
		return err
	}
	sorting := report.Seconds - phase(report, "verify")
	fmt.Fprintf(out, "3. sorted     them with %s of memory in %s, %s\n",
		humanBytes(opt.MemoryBytes), seconds(sorting), rate(t.bytes, sorting))
	fmt.Fprintf(out, "              by %s on %s, %s, %s spilled, memory: %s\n", report.Strategy, report.Device,
		plural(int64(report.Chunks), "chunk"), humanBytes(report.BytesSpilled), memory(report))
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

func (t *tour) generate(ctx context.Context, workers int) error {
	header, err := format.Spec{Type: "u64"}.NewHeader()
	if err != nil {
		return err
	}
	generator, err := format.NewGenerator(header.Layout(), "uniform", 1, t.bytes/8)
	if err != nil {
		return err
	}
	job := generation{header, generator, t.bytes / 8, workers, t.progress}
	out, err := output.Open(t.keys, nil)
	if err != nil {
		return err
	}
	return job.write(ctx, out, format.None)
}

// copy copies the input as cp does, but through this process, and as durably as a sort writes its output.
func (t *tour) copy(ctx context.Context) error {
	from, err := os.Open(t.keys)
	if err != nil {
		return err
	}
	defer from.Close()
	t.progress.Begin("copy", t.bytes)
	defer t.progress.End()
	input := readerFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		t.progress.Add(int64(n))
		return n, cmp.Or(context.Cause(ctx), err)
	})
	copied := t.keys + ".copy"
	err = writeFile(copied, func(w io.Writer) error {
		_, err := io.CopyBuffer(onlyWriter{w}, input, make([]byte, generationBlock))
		return err
	})
	return errors.Join(err, os.Remove(copied))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
