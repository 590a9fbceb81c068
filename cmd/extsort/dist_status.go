package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
)

func distStatusFlags(g group, v *flagValues) {
	g.bool(&v.dist.json, "json", "print one JSON object")
}

func distStatus(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb(
		"status [flags] DIR",
		"Show which tasks are done and what to run next.",
		"  extsort dist status plan",
		v,
		withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, args []string) error {
			s, err := w.Plan.Status(ctx)
			if err != nil {
				return err
			}
			if v.dist.json {
				return json.NewEncoder(a.out).Encode(s)
			}
			next := "nothing: the output is complete in " + w.Plan.Output
			if s.Next != "" {
				next = fmt.Sprintf(
					"extsort dist %s %s", s.Next, shellWord(args[0]),
				)
			}
			writeRows(a.out, []row{
				{
					"runs",
					taskProgress(s.Runs, s.RunsLeft),
				}, {"cut", textIf(s.Cut, "done") + textIf(!s.Cut, "not done")},
				{"parts", taskProgress(s.Parts, s.Left)},
				{"next", next},
			})
			return nil
		}),
	)
}

// taskProgress formats the number of completed tasks and the list of missing ones.
func taskProgress(all int, left []int) string {
	return fmt.Sprintf(
		"%d of %d done", all-len(left), all,
	) + textIf(len(left) > 0, ", missing: %s", dist.Ranges(left))
}
