package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
)

func distVerifyFlags(g group, v *flagValues) {
	g.add(text(&v.dist.part, "K/N"), "part",
		"only read the parts of share K of N, K from 0, and compare their checksums; otherwise "+
			"combine the checksums of all tasks and complete the output").
		offers("auto")
	g.bool(
		&v.dist.keepRuns, "keep-runs", "keep the files of the runs",
	).notWith("--part")
	g.bool(
		&v.dist.readAll,
		"all",
		"read all parts, too, and check their order and checksums",
	).notWith("--part")
}

func distVerify(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("verify [flags] DIR",
		"Use the checksums of the tasks to check that the parts follow each other and\ncontain all records of the inputs. "+
			"Then give the output of --into its final\nname, and remove the runs.",
		"  extsort dist verify plan\n  extsort dist verify --part 3/8 plan",
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			s, err := tasksOf(w.Plan.Parts, v.dist.part)
			if err != nil {
				return err
			}
			if v.dist.part != "" {
				return w.ReadBack(ctx, s)
			}
			m, err := w.Verify(ctx, v.dist.keepRuns)
			if err == nil && v.dist.readAll {
				err = w.ReadBack(ctx, s)
			}
			if err == nil {
				fmt.Fprintf(
					a.out,
					"%s: %s in order, checksum %s\n",
					m.Output,
					plural(m.Records, "record"),
					m.Checksum,
				)
			}
			return err
		}))
}
