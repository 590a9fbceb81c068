package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/session"
)

// shuffleCommand returns the verb that puts records in random order. The seed determines where
// each record goes.
func shuffleCommand(a *app) *cobra.Command {
	v := &flagValues{}
	f := &v.sortFlags
	return verb("shuffle [flags] [FILE ...]",
		"Put records into a uniformly random order, even if they do not fit in memory.\nThe order depends only on "+
			"their number and the seed.",
		"  extsort shuffle -R 3073 --seed 7 -o shuffled.bin train.bin\n  extsort shuffle --limit 1000 -o sample.npy all.npy",
		v, func(cmd *cobra.Command, files []string) error {
			drawn := !cmd.Flags().Changed("seed")
			if drawn {
				f.opt.Seed = rand.Uint64()
			}
			return f.report.writeJSON(
				cmd.Context(), a, f.shuffle(cmd.Context(), a, files, drawn),
			)
		})
}

func shuffleOrderFlags(g group, v *flagValues) {
	g.add(parsed(&v.opt.Seed, "N", parseSeed), "seed",
		"seed of the random order: the same seed gives the same order; otherwise a random one, which is printed").
		hints("random-source")
	g.add(parsed(&v.opt.Limit, "N", parseLimit), "limit",
		"write only the first N records in this order, a random sample; otherwise all").
		sets(option.Limit).hints("top", "head", "head-count")
}

// shuffle runs a shuffle as a sort. drawn reports that the seed was chosen at random, not by the
// user.
func (f *sortFlags) shuffle(
	ctx context.Context, a *app, operands []string, drawn bool,
) error {
	files, err := f.inputNames(operands, a.stdin)
	if err != nil {
		return err
	}
	if err := f.report.open(ctx, f.places(a, files)); err != nil {
		return err
	}
	f.guessFormat(files)
	if err := cmp.Or(a.checkInput(files), f.checkFirstInput(files)); err != nil {
		return err
	}
	f.opt.Shuffle = true
	err = a.runAndReport(ctx, f, f.options(a, files), session.Sort)
	if err == nil && drawn {
		fmt.Fprintf(a.notes, "extsort: shuffled by --seed %d\n", f.opt.Seed)
	}
	return err
}
