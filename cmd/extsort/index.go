package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/internal/lookup"
)

func indexOutputFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Output, "INDEX"), "output,o",
		"write the index to INDEX, completely or not at all; otherwise FILE"+lookup.IndexSuffix)
}

func indexCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("index [flags] FILE",
		"Make an index of a sorted file: the first key of each 64 KiB. With an index,\n"+
			"extsort find needs one read per look-up. index reads all records and checks\n"+
			"their order. find refuses the index after FILE has changed.",
		"  extsort index -t u64 sorted.bin\n"+
			"  extsort index -R 24 -k 8:u64 -o ids.idx ids.bin",
		v, func(cmd *cobra.Command, files []string) error {
			return writeIndex(cmd.Context(), a, v, files)
		})
}

func writeIndex(ctx context.Context, a *app, v *flagValues, files []string) error {
	if len(files) != 1 {
		return fmt.Errorf("index: want one sorted FILE, but got %d", len(files))
	}
	name := v.opt.Output
	if name == "" {
		name = files[0] + lookup.IndexSuffix
	}
	switch {
	case strings.HasPrefix(name, "-") && isStandard(files[0], 0):
		return errors.New("index: standard input has no name: name the index with -o INDEX")
	case isStandard(name, 1):
		return errors.New("index: find reads the index at any position: name a file with -o INDEX")
	case inputPlace(a, files[0]).isFile(name):
		return fmt.Errorf("-o %s: is also the input: name another file", name)
	}
	file, err := openSorted(ctx, a, v, files[0], lookup.IndexFile{})
	if err != nil {
		return err
	}
	return errors.Join(file.WriteIndex(ctx, name, v.opt.Output == ""), file.Close())
}
