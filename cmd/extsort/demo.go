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
	"github.com/extsort/extsort/internal/human"
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
	g.add(size(&f.size, "SIZE", parseByteLimit), "size",
		"how much to sort; three times that must be free on the disk; otherwise 1G")
	g.add(size(&f.opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S", "host memory for the sort; otherwise 256M")
	g.add(single(&f.folder, "DIR"), "temporary-directory,T", "work in DIR; otherwise in TMPDIR, else /var/tmp")
	addDevices(g, &f.opt.Devices)
	addParallel(g, &f.opt.Workers)
	addProgress(g, &f.progress, "show progress on standard error; auto shows it only on a terminal")
	return g
}

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	return verb("demo [flags]",
		"Take the tour: generate random 64-bit keys, sort them in less memory than they\n"+
			"need, verify the result, report, and clean up.",
		"", []group{f.group()}, func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), &f) })
}

func (a *app) demo(ctx context.Context, f *demoFlags) (err error) {
	folder, err := os.MkdirTemp(cmp.Or(f.folder, spill.DefaultFolder()), "extsort-demo-")
	if err != nil {
		return fmt.Errorf("demo: %w; name another directory with -T", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	f.opt.Inputs, f.opt.Output = []string{filepath.Join(folder, "keys")}, filepath.Join(folder, "sorted")
	f.opt.Record, f.opt.TempDirs, f.opt.Verify = format.Spec{Type: "u64"}, []string{folder}, true
	fmt.Fprintf(a.out, "The tour of extsort, in %s.\n\n", folder)
	return a.tour(ctx, f, max(f.size/8, 1)*8)
}

func (a *app) tour(ctx context.Context, f *demoFlags, bytes int64) error {
	spent, err := timed(func() error {
		return a.gen(ctx, &genFlags{
			record: f.opt.Record, output: f.opt.Inputs[0], bytes: bytes, dist: "uniform", seed: 1,
			workers: f.opt.Workers, progress: f.progress,
		})
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "1. generated  %s of random 64-bit keys in %s, %s\n",
		human.Bytes(bytes), human.Time(spent), human.Rate(bytes, spent))

	progress := a.bars(f.progress)
	copying, err := timed(func() error { return copyDurably(ctx, f.opt.Inputs[0], bytes, progress) })
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "2. copied     them as a yardstick in %s, %s\n", human.Time(copying), human.Rate(bytes, copying))

	f.opt.Progress, f.opt.MeasureMemory = progress, true
	report, err := extsort.Sort(ctx, f.opt)
	progress.Close()
	if err != nil {
		return err
	}
	a.tellOfSort(report, copying)
	return nil
}

func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return time.Since(start).Seconds(), err
}

func (a *app) tellOfSort(r *extsort.Report, copying float64) {
	d, sorting := &r.Detail, r.Seconds
	for _, p := range d.Phases {
		if p.Name == "verify" {
			sorting -= p.Seconds
		}
	}
	fmt.Fprintf(a.out, "3. sorted     them with %s of memory in %s, %s\n",
		human.Bytes(d.MemoryLimit), human.Time(sorting), human.Rate(r.BytesRead, sorting))
	fmt.Fprintf(a.out, "              by %s on %s,\n", r.Strategy, r.Device)
	fmt.Fprintf(a.out, "              %s, %s spilled, memory: %s\n", plural(d.Chunks, "chunk"),
		human.Bytes(r.BytesSpilled), memory(d))
	fmt.Fprintf(a.out, "4. verified   that they are in order and still the same keys\n")
	fmt.Fprintf(a.out, "\nSorting took %.1f times as long as copying.", sorting/copying)
	switch {
	case r.BytesSpilled > 0:
		fmt.Fprintf(a.out, " With %s it wrote and read the data twice.", human.Bytes(d.MemoryLimit))
	case r.Strategy == extsort.Reread:
		fmt.Fprintf(a.out, " With %s it read the data %d times.", human.Bytes(d.MemoryLimit), d.Chunks)
	}
	fmt.Fprintf(a.out, "\nEverything is removed again. Your own file:\n  extsort -t u64 -o sorted.bin keys.bin\n")
}

// copyDurably copies a file as cp does, but through this process, and as durably as a sort writes its output.
func copyDurably(ctx context.Context, name string, bytes int64, progress *bars) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	defer context.AfterFunc(ctx, func() { from.Close() })()
	progress.Begin("copy", bytes)
	defer progress.Close()
	copied := name + ".copy"
	err = output.WriteFile(ctx, copied, func(w io.Writer) error {
		_, err := io.CopyBuffer(onlyWriter{w}, io.TeeReader(from, progress), make([]byte, generationBlock))
		return err
	})
	return errors.Join(err, os.Remove(copied))
}
