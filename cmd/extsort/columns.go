package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/columnhelper"
	"github.com/extsort/extsort/internal/option"
)

// columnCompressions lists the compressions that only files with columns have.
var columnCompressions = []string{"snappy", "lz4"}

// columnFlags lists the flags that work with files with columns. Flags about progress have no effect,
// because the other program shows none.
var columnFlags = []string{
	"key", "reverse", "nulls", "nan", "float", "unique", "keep", "limit", "stable", "output", "compress", "buffer-size",
	"temporary-directory", "parallel", "strategy", "verify", "progress", "quiet",
}

func nullsFlag(g group, v *flagValues) {
	g.add(oneOf(&v.nulls, "WHERE", "first", "last"), "nulls",
		"put nulls of Parquet and Arrow columns first or last, also with -r and :desc; otherwise last").notWith("--join")
}

// sortCompressFlag is compressFlag with the compressions of files with columns.
func sortCompressFlag(g group, v *flagValues) {
	words := append(format.Compressions(), columnCompressions...)
	g.add(oneOf(&v.opt.Compress, "KIND", words...), "compress",
		"compress the output; otherwise by the suffix of FILE: "+inWords(format.CompressionSuffixes())+
			"; of Parquet files: the pages, with "+inWords(append(columnCompressions, "gzip", "zstd", "brotli"))+
			", otherwise as in the input").
		sets(option.Compress).notWith("-c")
}

// kindOfColumns returns the kind of the first input if it is a file with columns that no flag
// declares to be something else, otherwise "".
func (f *sortFlags) kindOfColumns(files []string) string {
	r := &f.opt.Record
	isDescribed := r.Type+r.Format+r.Fields != "" || r.RecordSize != 0 || f.opt.Raw || f.opt.SkipBytes != 0
	switch {
	case isDescribed:
		return ""
	case len(files) == 0 || isStandard(files[0], 0):
		return columnhelper.KindOf("-")
	}
	return columnhelper.KindOf(files[0])
}

// sortColumns lets another program sort files with columns.
func sortColumns(a *app, f *sortFlags, kind string, files []string) error {
	if len(files) == 0 {
		files = []string{"-"}
	}
	var other string
	f.flags.Visit(func(flag *pflag.Flag) {
		if other == "" && !slices.Contains(columnFlags, flag.Name) {
			other = flag.Name
		}
	})
	if other != "" {
		return fmt.Errorf("%s is %s, and --%s does not work with such files", files[0], kind, other)
	}
	if err := a.checkOutput(f.opt.Output, files...); err != nil {
		return err
	}
	return columnhelper.Run(f.columnArguments(files))
}

// columnArguments returns the arguments of the other program.
func (f *sortFlags) columnArguments(files []string) []string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	for _, key := range f.opt.Record.Keys {
		add("key", key)
	}
	for _, folder := range f.opt.TempDirs {
		add("temp-dir", folder)
	}
	add("nulls", f.nulls)
	add("nan", f.opt.Record.NaN)
	add("float", f.opt.Record.Float)
	add("keep", f.opt.Keep)
	if f.opt.Strategy != "auto" {
		add("strategy", string(f.opt.Strategy))
	}
	if !isStandard(f.opt.Output, 1) {
		add("output", f.opt.Output)
	}
	add("compress", f.opt.Compress)
	for name, number := range map[string]int64{
		"memory": f.opt.MemoryBytes, "parallel": int64(f.opt.Workers), "limit": f.opt.Limit,
	} {
		if number != 0 {
			add(name, strconv.FormatInt(number, 10))
		}
	}
	for name, isSet := range map[string]bool{
		"reverse": f.opt.Reverse, "unique": f.opt.Unique, "verify": f.opt.Verify,
	} {
		if isSet {
			args = append(args, "--"+name)
		}
	}
	args = append(args, "--")
	for _, name := range files {
		if isStandard(name, 0) {
			name = "-"
		}
		args = append(args, name)
	}
	return args
}
