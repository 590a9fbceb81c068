package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/dist"
)

func distCatFlags(g group, v *flagValues) {
	g.add(text(&v.dist.output, "FILE"), "output,o",
		"write to FILE or an object, completely or not at all; otherwise standard "+
			"output")
}

func distCat(a *app) *cobra.Command {
	v := &flagValues{}
	return distVerb("cat [flags] DIR", "Write the parts of a complete output, one after another.",
		"  extsort dist cat -o sorted.bin plan\n  extsort dist cat plan | zstd > sorted.zst",
		v, withPlan(a, &v.opt, func(ctx context.Context, w *dist.Worker, _ []string) error {
			if err := a.checkOutput(v.dist.output); err != nil {
				return err
			}
			if v.dist.output == "" || v.dist.output == "-" {
				return w.Plan.Cat(ctx, a.stdout)
			}
			return w.Plan.CatTo(ctx, v.dist.output)
		}))
}
