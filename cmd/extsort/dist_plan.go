package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
)

func distOutputFlags(g group, v *flagValues) {
	g.add(text(&v.dist.request.Output, "OUTDIR"), "output,o",
		"write one file per part into directory OUTDIR, or one object per part below s3://BUCKET/PREFIX").
		sets(option.Output).directory()
	g.add(text(&v.dist.singleFile, "FILE"), "into", "write all parts into one FILE")
}

func distPlanFlags(g group, v *flagValues) {
	r := &v.dist.request
	r.RunBytes = 16 << 30
	g.add(
		wholeNumber(&r.Runs, "R", 1),
		"runs",
		"sort the input as R runs; otherwise by --run-size",
	)
	g.add(amount(&r.RunBytes, "SIZE", parseByteLimit), "run-size",
		"approximate size of each run; fast if twice that size fits in memory; otherwise 16G").
		notWith("--runs")
	g.add(
		wholeNumber(&r.Parts, "P", 1),
		"parts",
		"write the output as P equal parts; otherwise as many as runs",
	)
	g.bool(&r.NoIndex, "no-index",
		"write no index of keys for each run; dist cut then reads single records of the runs")
}

func distPlan(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("plan [flags] DIR FILE ...",
		"Plan the sort of FILEs, in this order, as tasks for many machines, and write\nDIR/plan.json. FILEs contain plain "+
			"records. They are files that all machines can\nread under the same names, or objects (s3://BUCKET/KEY, "+
			"https://HOST/FILE).",
		"  extsort dist plan -t u64 --runs 64 -o sorted plan keys-*.bin\n"+
			"  extsort dist plan -R 16 -k 0:u64 --into sorted.bin plan log.bin",
		v, func(ctx context.Context, args []string) error {
			inputs, err := v.inputNames(args[1:], a.stdin)
			if err != nil {
				return err
			}
			r, err := v.distRequest(inputs)
			if err != nil {
				return err
			}
			return planDist(ctx, a, &v.dist.simulation, args[0], r)
		})
}

// distRequest returns the request that the flags and the inputs of a plan describe.
func (v *flagValues) distRequest(inputs []string) (dist.Request, error) {
	r := v.dist.request
	r.Inputs = inputs
	r.Record = v.opt.Record
	r.Reverse = v.opt.Reverse
	r.SkipBytes = v.opt.SkipBytes
	r.InputRecords = v.opt.Records
	r.SkipTail = v.opt.SkipTail
	if v.dist.singleFile == "" {
		return r, nil
	}
	if r.Output != "" {
		return r, errors.New(
			"-o and --into cannot be combined: write one file per part, or one in total",
		)
	}
	r.Output = v.dist.singleFile
	r.OneFile = true
	return r, nil
}

func planDist(
	ctx context.Context, a *app, sim *simulation, folder string, r dist.Request,
) error {
	if err := cmp.Or(validateRecord(r.Record), sim.validate()); err != nil {
		return err
	}
	if err := sim.checkPlot(a, folder, r); err != nil {
		return err
	}
	p, err := dist.CreatePlan(ctx, folder, r)
	if err != nil {
		return err
	}
	if err := sim.openPlot(ctx); err != nil { // the file may be in the directory of the plan
		return err
	}
	defer sim.plot.discard()
	cost := p.Estimate(profile.Load().ProfileFor(spill.DefaultFolder()), processors)
	simulated, err := sim.run(ctx, p, cost)
	if err != nil {
		return err
	}
	each := func(n int) string {
		return fmt.Sprintf("%d of %s each", n, human.Bytes(p.Bytes()/int64(n)))
	}
	rows := append([]row{
		{"records", humanize.Comma(p.Records) + ", " + plural(p.RecordBytes, "byte") + " each"},
		{"runs", each(p.Runs)}, {"parts", each(p.Parts)},
		{"tasks", fmt.Sprintf(
			"%d run, %d cut, %d merge, 1 verify",
			p.Runs,
			dist.CutTasks(p),
			p.Parts,
		)},
		{"I/O", human.Bytes(cost.Moved) + " read and " + human.Bytes(cost.Moved) + " written"},
		{
			"predicted",
			fmt.Sprintf(
				"%s per run, %s per merge, on a machine like this one",
				human.Estimate(cost.RunSeconds),
				human.Estimate(cost.Merge),
			),
		},
	}, simulated...)
	next := "extsort dist script " + strings.Join(dist.Schedulers, "|") + " " + shellWord(folder)
	writeRows(a.out, append(rows, row{"next", next}))
	return nil
}
