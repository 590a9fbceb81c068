package main

import (
	"maps"
	"slices"
	"strings"
)

// flagOf are the flags that stand for the fields which messages of the library name.
var flagOf = map[string]string{
	"Options.Argsort":     "--argsort",
	"Options.Checkpoint":  "--checkpoint",
	"Options.Compress":    "--compress",
	"Options.Count":       "--count",
	"Options.Decompress":  "--decompress",
	"Options.Keep":        "--keep",
	"Options.KeepHeader":  "--keep-header",
	"Options.Limit":       "--limit",
	"Options.MemoryBytes": "-S",
	"Options.Output":      "-o",
	"Options.Part":        "--part",
	"Options.Raw":         "--raw",
	"Options.SkipBytes":   "--skip-bytes",
	"Options.TempDirs":    "-T",
	"Options.Unique":      "-u",
	"Options.Verify":      "--verify",
	"Options.Workers":     "--parallel",
	"Record.Format":       "-f",
	"Record.Keys":         "-k",
	"Record.Member":       "--member",
	"Record.NaN":          "--nan",
	"Record.RecordSize":   "-R",
	"Record.Type":         "-t",
}

// fieldsToFlags puts messages of the library into the words of whoever types flags.
var fieldsToFlags = func() *strings.Replacer {
	var pairs []string
	for _, field := range slices.Backward(slices.Sorted(maps.Keys(flagOf))) { // of two that begin alike the longer first
		pairs = append(pairs, field, flagOf[field])
	}
	return strings.NewReplacer(pairs...)
}()
