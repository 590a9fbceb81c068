package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
	"github.com/extsort/extsort/internal/session"
)

func distTaskFlags(g group, v *flagValues) {
	g.add(text(&v.dist.part, "K/N"), "part",
		"run share K of N of the tasks, K from 0; auto takes K and N from the environment of "+
			"MPI, Slurm, AWS Batch, Cloud Run, Kubernetes or SGE; otherwise all").
		offers("auto")
}

// distTask returns the command run, cut or merge.
func distTask(
	a *app,
	name, about string,
	do func(*dist.Worker, context.Context, session.Part) error,
) *cobra.Command {
	v := &flagValues{}
	return distVerb(name+" [flags] DIR", about+"\nFinished tasks are skipped.",
		fmt.Sprintf(
			"  extsort dist %s --part 3/8 plan\n  extsort dist %s --part auto -S 32G plan",
			name,
			name,
		),
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			tasks := map[string]int{
				"run":   w.Plan.Runs,
				"cut":   dist.CutTasks(w.Plan),
				"merge": w.Plan.Parts,
			}
			s, err := tasksOf(tasks[name], v.dist.part)
			if err != nil {
				return err
			}
			return do(w, ctx, s)
		}))
}

// tasksOf returns the share of n tasks that this process runs. text is a part K/N, "auto" for the
// part that a scheduler assigned, or "" for all tasks.
func tasksOf(n int, text string) (session.Part, error) {
	switch text {
	case "":
		return session.Part{N: 1}, nil
	case "auto":
		return dist.Detect(n, os.Getenv)
	}
	part, err := parsePart(text)
	if err != nil {
		err = fmt.Errorf("--part: %w", err)
	}
	return part, err
}
