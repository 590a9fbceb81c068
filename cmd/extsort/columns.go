package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

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
	"key", "reverse", "nulls", "nan", "float", "unique", "keep", "keep-key", "limit", "stable", "output", "compress",
	"split", "buffer-size", "temporary-directory", "parallel", "strategy", "verify", "progress", "quiet", "stats", "check",
	"check-quiet",
}

// columnVerbs lists the verbs that work with files with columns, and their flags.
var columnVerbs = map[string][]string{
	"info":      {"json", "buffer-size"},
	"plan":      columnFlags,
	"print":     {"as", "columns", "header", "head", "tail", "range", "output", "parallel", "buffer-size"},
	"find":      {"key", "reverse", "from", "to", "count", "as", "columns", "header", "output", "compress", "buffer-size"},
	"union":     slices.Concat(columnSetFlags, []string{"all"}),
	"intersect": slices.Concat(columnSetFlags, []string{"all"}),
	"subtract":  slices.Concat(columnSetFlags, []string{"all"}),
	"join":      slices.Concat(columnSetFlags, []string{"how"}),
}

// columnSetFlags lists the flags of set operations that work with files with columns.
var columnSetFlags = []string{
	"key", "reverse", "nulls", "nan", "float", "output", "compress", "buffer-size", "temporary-directory",
	"parallel", "progress", "quiet", "stats",
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
	if err := f.checkColumnFlags(f.flags, columnFlags, files[0], kind); err != nil {
		return err
	}
	if err := errors.Join(conflicts(f.flags)...); err != nil {
		return err
	}
	switch {
	case f.mode.isCheck() && f.report.stats != "":
		return fmt.Errorf("%s is %s, and -c has no --stats for such files: leave it out", files[0], kind)
	case f.mode.isCheck():
		args := []string{"check"}
		if f.mode.isQuiet() {
			args = append(args, "--silent")
		}
		return columnhelper.Run(append(args, f.columnArguments(files)...))
	}
	if err := a.checkOutput(f.opt.Output, files...); err != nil {
		return err
	}
	return columnhelper.Run(f.columnArguments(files))
}

// checkColumnFlags returns an error if a flag does not work with files with columns.
func (f *sortFlags) checkColumnFlags(flags *pflag.FlagSet, known []string, file, kind string) error {
	var other string
	flags.Visit(func(flag *pflag.Flag) {
		if other == "" && !slices.Contains(known, flag.Name) {
			other = flag.Name
		}
	})
	switch {
	case other != "":
		return fmt.Errorf("%s is %s, and --%s does not work with such files: leave it out", file, kind, other)
	case f.opt.Keep != "" && !f.opt.Unique:
		return errors.New("--keep: needs -u, which writes one row of each key")
	case strings.HasPrefix(f.report.stats, "json:"):
		return fmt.Errorf("%s is %s: use --stats=json, which writes to standard error", file, kind)
	}
	if codec, err := format.ParseCompression("", f.opt.Output); err != nil || codec != format.None {
		return fmt.Errorf("%s is %s, whose output is not compressed as a whole: leave %s out of -o %s", file, kind,
			filepath.Ext(f.opt.Output), f.opt.Output)
	}
	return nil
}

// runOnColumns lets another program run a verb on files with columns. isDone reports whether the first
// file is one.
func (v *flagValues) runOnColumns(name string, flags *pflag.FlagSet, files []string) (isDone bool, err error) {
	known, isKnown := columnVerbs[name]
	var keys []string
	if name == "find" && len(files) > 0 {
		keys = files[:len(files)-1]
		files = files[len(files)-1:]
	}
	if !isKnown || len(files) == 0 || isStandard(files[0], 0) {
		return false, nil
	}
	kind := v.kindOfColumns(files)
	if kind == "" {
		return false, nil
	}
	if err := v.checkColumnFlags(flags, known, files[0], kind); err != nil {
		return true, err
	}
	args := append([]string{name}, v.verbArguments(name)...)
	if len(keys) > 1 {
		return true, fmt.Errorf("%s is %s, in which find finds one KEY: use --from and --to for more", files[0], kind)
	}
	if len(keys) == 1 {
		for value := range strings.SplitSeq(keys[0], ",") {
			args = append(args, "--value="+value)
		}
	}
	err = columnhelper.Run(append(args, v.columnArguments(files)...))
	if name == "info" && errors.Is(err, columnhelper.ErrMissing) {
		return false, nil // info names the container without the other program
	}
	return true, err
}

// verbArguments returns the arguments of a verb that a sort does not have.
func (v *flagValues) verbArguments(name string) (args []string) {
	add := func(name string, value any) { args = append(args, fmt.Sprintf("--%s=%v", name, value)) }
	switch name {
	case "info":
		add("json", v.info.json)
	case "print":
		add("as", v.text.form)
		if v.text.header != "" {
			add("header", v.text.header)
		}
		if v.text.head.isGiven() {
			add("head", v.text.head)
		}
		if v.text.tail.isGiven() {
			add("tail", v.text.tail)
		}
		if v.text.span != nil {
			add("first", v.text.span.first)
			add("end", v.text.span.end)
		}
		if len(v.text.columns) > 0 {
			add("columns", strings.Join(v.text.columns, ","))
		}
	case "find":
		add("from", v.text.find.from)
		add("to", v.text.find.to)
		add("count", v.text.find.count)
		if v.text.form != keysRecords {
			add("as", v.text.form)
		}
		add("header", cmp.Or(v.text.header, "yes"))
		add("columns", strings.Join(v.text.columns, ","))
	case "join":
		add("how", v.sets.join.how)
	case "union", "intersect", "subtract":
		add("all", v.sets.all)
	}
	return args
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
	add("keep-key", f.opt.KeepKey)
	add("stats", f.report.stats)
	if f.opt.Strategy != "auto" {
		add("strategy", string(f.opt.Strategy))
	}
	if !isStandard(f.opt.Output, 1) {
		add("output", f.opt.Output)
	}
	add("compress", f.opt.Compress)
	for name, number := range map[string]int64{
		"memory": f.opt.MemoryBytes, "parallel": int64(f.opt.Workers), "limit": f.opt.Limit,
		"split-files": int64(f.opt.SplitFiles), "split-bytes": f.opt.SplitBytes,
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
