package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/bench/plot"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
)

// benchFlags selects the cases to time and the form of the results.
type benchFlags struct {
	device string
	table  string
	scope  bench.Scope
	runs   int
	from   []string
	format string
	svg    string

	plot *sideFile // destination of svg
}

// benchCaseFlags defines the flags that select the cases to run, or a file with earlier results.
func benchCaseFlags(g group, v *flagValues) {
	f := &v.bench
	f.table = bench.Views[0].Name
	distribution := func(s string) (string, error) {
		return s, checkWord(s, format.Distributions)
	}
	for _, d := range []definition{
		g.add(text(&f.device, "DEVICE"), "device,d",
			"the device, by number or name (see extsort devices); otherwise a GPU if there is one").
			hints("gpu").offers("cpu", "gpu"),
		g.add(
			oneOf(&f.table, "TABLE", bench.ViewNames()...),
			"table",
			"the table to print",
		),
		g.add(listOf(&f.scope.Algorithms, "NAMES", notEmpty), "algorithm",
			"only these algorithms; otherwise all").
			hints("algorithms"),
		g.add(listOf(&f.scope.Keys, "TYPES", opencl.ParseKeyKind), "type,t",
			"only these key types: u32, u64, u32+u32, u64+u32 (with a 32-bit index); otherwise all").
			hints("keys", "types").offers("u32", "u64", "u32+u32", "u64+u32"),
		g.add(
			listOf(&f.scope.Dists, "NAMES", distribution),
			"dist",
			"these distributions of the keys; otherwise uniform",
		).
			hints("distribution").offers(format.Distributions...),
		g.add(
			amount(&f.scope.Min, "COUNT", parseCount),
			"min",
			"smallest number of keys, such as 1000, 1M or 2^20",
		),
		g.add(
			amount(&f.scope.Max, "COUNT", parseCount),
			"max",
			"largest number of keys; sizes are powers of two",
		),
		g.add(
			wholeNumber(&f.runs, "N", 1),
			"runs",
			"take the median of N runs; otherwise 5",
		).
			hints("count", "repeat"),
	} {
		d.notWith("--from")
	}
	g.add(listOf(&f.from, "FILES", notEmpty), "from",
		"only combine and show results that --format json wrote")
}

func benchShowFlags(g group, v *flagValues) {
	f := &v.bench
	f.format = "text"
	g.add(
		oneOf(&f.format, "FORM", "text", "json"),
		"format",
		"print tables or JSON",
	).
		hints("json", "stats")
	g.add(
		text(&f.svg, "FILE"),
		"svg",
		"also plot the rates by number of keys, as an SVG image in FILE",
	).
		hints("plot")
}

func (a *app) benchCommand() *cobra.Command {
	v := &flagValues{}
	f := &v.bench
	cmd := verb(
		"bench [flags]",
		"Time the sorting algorithms of a device, in Mkeys/s by size, and check their\nresults.",
		`  extsort bench
  extsort bench -d gpu -t u32,u64+u32 --max 2^28 --dist few,zipf --svg r.svg
  extsort bench -d gpu --table bainville
  extsort bench --from ours.json,theirs.json --svg both.svg`,
		v,
		nil,
	)
	cmd.Long += "\n\nTables:\n"
	for _, v := range bench.Views {
		cmd.Long += fmt.Sprintf("  %s\n    %s\n", v.Name, v.About)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.openPlot(cmd.Context(), a); err != nil {
			return err
		}
		defer f.plot.discard()
		if f.from != nil {
			return a.showFigures(cmd.Context(), f)
		}
		return a.bench(cmd.Context(), f)
	}
	return cmd
}

// showFigures shows results that --format json wrote.
func (a *app) showFigures(ctx context.Context, f *benchFlags) error {
	report, err := bench.ReadFiles(f.from)
	if err != nil {
		return err
	}
	return a.showBench(ctx, report, f)
}

func (a *app) bench(ctx context.Context, f *benchFlags) error {
	info, err := pickDevice(ctx, f.device)
	if err != nil {
		return err
	}
	view, _ := bench.FindView(f.table)              // the flag has already checked the name
	f.scope.Memory, _ = session.ParseMemory("100%") // 0 if unknown
	bed, err := bench.Open(ctx, info)
	if err != nil {
		return err
	}
	defer bed.Close()
	cases, err := view.Cases(bed.Info(), f.scope)
	if err != nil {
		return err
	}
	report := bench.NewReport(bed, view.Name, f.runs)
	if report.Results, err = bench.Run(ctx, bed, cases, a.benchOptions(f, len(cases))); err != nil {
		return err
	}
	if err := a.showBench(ctx, report, f); err != nil {
		return err
	}
	if n := report.Failed(); n > 0 {
		return fmt.Errorf(
			"bench: %d of %d cases failed: the tables say which", n, len(cases),
		)
	}
	return nil
}

// benchOptions returns options that show the name of the current case if the output is a terminal.
func (a *app) benchOptions(f *benchFlags, cases int) bench.Options {
	opt := bench.Options{Runs: f.runs}
	if barColumns(a.stderr) > 0 {
		done := 0
		opt.OnCase = func(c bench.Case) {
			done++
			fmt.Fprintf(
				a.stderr,
				"\r\x1b[K%d of %d: %s, %s, %s, %d keys",
				done,
				cases,
				c.Label,
				c.Key,
				c.Dist,
				c.Records,
			)
			if done == cases {
				fmt.Fprint(a.stderr, "\r\x1b[K")
			}
		}
	}
	return opt
}

func (a *app) showBench(
	ctx context.Context, report bench.Report, f *benchFlags,
) error {
	write := report.WriteText
	if f.format == "json" {
		write = report.WriteJSON
	}
	if err := write(a.out); err != nil || f.plot == nil {
		return err
	}
	return f.plot.write(ctx, func(w io.Writer) error {
		return plot.WriteSVG(w, report)
	})
}

// openPlot opens the file that --svg names, if any.
func (f *benchFlags) openPlot(ctx context.Context, a *app) (err error) {
	if f.svg == "" {
		return nil
	}
	taken := []place{{role: "the output", stream: a.stdout}}
	for _, name := range f.from {
		taken = append(taken, place{role: "read by --from", name: name})
	}
	f.plot, err = openSide(ctx, "--svg", f.svg, taken...)
	return err
}

// pickDevice returns the device that word names. For "", it returns the first device that a sort
// may choose, or the CPU.
func pickDevice(ctx context.Context, word string) (device.Info, error) {
	list := session.Devices(ctx)
	if word == "" || word == "auto" {
		at := slices.IndexFunc(list.Devices, func(d device.Info) bool {
			return d.Automatic
		})
		return list.Devices[max(at, 0)], nil
	}
	found, err := list.Select(word)
	if err != nil {
		return device.Info{}, err
	}
	return found[0], nil
}
