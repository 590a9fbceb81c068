package main

import (
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// The flags for the order and the form of the result.

func reverseFlag(g group, v *flagValues) {
	g.bool(
		&v.opt.Reverse,
		"reverse,r",
		"reverse the whole order; equal keys still keep their input order",
	).
		sets(option.Reverse).hints("descending", "desc").notWith("--join")
}

func nanFlag(g group, v *flagValues) {
	g.add(oneOf(&v.opt.Record.NaN, "WHERE", "first", "last", "total"), "nan",
		"put NaNs first or last, also with -r and :desc; otherwise total: by sign, usually after +Inf").
		sets(option.NaN).notWith("--join")
}

func floatFlag(g group, v *flagValues) {
	g.add(oneOf(&v.opt.Record.Float, "ORDER", "total", "numeric"), "float",
		"order of floats; in numeric order, -0 equals +0, and all NaNs are equal and last (or first with --nan first); "+
			"otherwise total").
		sets(option.Float).notWith("--join")
}

func uniqueFlag(g group, v *flagValues) {
	g.bool(&v.opt.Unique, "unique,u",
		"write only the first record of each key; with -c, a repeated key counts as disorder").
		sets(option.Unique).hints("dedup", "distinct")
}

func keepFlag(g group, v *flagValues) {
	g.add(oneOf(&v.opt.Keep, "WHICH", "first", "last"), "keep",
		"which of the records with equal keys -u writes, by position in the input; otherwise first").
		sets(option.Keep).notWith("-c")
}

func countFlag(g group, v *flagValues) {
	g.bool(&v.opt.Count, "count",
		"append the number of records with its key to each record that -u writes, as a little-endian u64 (8 bytes)").
		sets(option.Count).hints("rows").notWith("-c")
}

// aggregateFlags define the flags that combine a field of the records with equal keys.
func aggregateFlags(g group, v *flagValues) {
	add := func(to *[]string, name, usage string, f option.Field) definition {
		return g.add(textList(to, "FIELD"), name, usage+"; otherwise -u keeps one record as it is").
			sets(f).needs("-u").notWith("-c", "--argsort")
	}
	add(&v.opt.Sum, "sum", "replace FIELD with its sum per key (in the record that -u writes): OFFSET:TYPE or a "+
		"name; NAME=FIELD appends the sum instead, NAME=FIELD:TYPE a wider one; repeatable", option.Sum).
		hints("total", "aggregate", "add", "groupby", "group-by")
	add(&v.opt.Min, "min", "replace FIELD with its minimum per key, as with --sum", option.Min).hints("minimum")
	add(&v.opt.Max, "max", "replace FIELD with its maximum per key, as with --sum", option.Max).hints("maximum")
	add(&v.opt.First, "first", "replace FIELD with its first value per key, in input order, as with --sum", option.First)
	add(&v.opt.Last, "last", "replace FIELD with its last value per key, in input order, as with --sum", option.Last)
}

func keepKeyFlag(g group, v *flagValues) {
	g.add(text(&v.opt.KeepKey, "NAME"), "keep-key",
		"write the computed key after each record, as a field NAME of type u64 or u128; otherwise it is not written").
		sets(option.KeepKey).hints("store-key", "add-key").notWith("-c", "-m", "--argsort")
}

func argsortFlag(g group, v *flagValues) {
	g.add(oneOf(&v.opt.Argsort, "TYPE", "u32", "u64"), "argsort",
		"write positions in the input instead of records; positions start at 0 and are little-endian, without a header "+
			"(in NumPy, np.fromfile(FILE, \"<u8\") reads u64 and \"<u4\" reads u32); otherwise the records").
		sets(option.Argsort).notWith("-c", "-m")
}

func duplicatesFlag(g group, v *flagValues) {
	g.bool(&v.opt.Duplicates, "duplicates",
		"write only the first record of each key that occurs more than once; -u --count writes how "+
			"often each key occurs").
		sets(option.Duplicates).notWith("-c")
}

func limitFlag(g group, v *flagValues) {
	g.add(parsed(&v.opt.Limit, "N", parseLimit), "limit",
		"write only the first N records of the result, without sorting the rest; otherwise all").
		sets(option.Limit).hints("top", "head").notWith("-c")
}

func stableFlag(g group, _ *flagValues) {
	g.bool(
		new(bool),
		"stable,s",
		"accepted for compatibility with GNU sort: sorting is always stable",
	)
}

// The flags for the output.

func outputFlag(g group, v *flagValues) { addOutput(g, v, "; FILE can be an input") }

// otherOutputFlag is outputFlag for verbs that do not replace an input.
func otherOutputFlag(g group, v *flagValues) { addOutput(g, v, "; FILE must not be an input") }

// newOutputFlag is outputFlag for verbs without inputs.
func newOutputFlag(g group, v *flagValues) { addOutput(g, v, "") }

func addOutput(g group, v *flagValues, aboutInputs string) {
	g.add(text(&v.opt.Output, "FILE"), "output,o",
		"write to FILE, completely or not at all"+aboutInputs+"; otherwise standard output").
		sets(option.Output).notWith("-c")
}

func compressFlag(g group, v *flagValues) {
	g.add(oneOf(&v.opt.Compress, "KIND", format.Compressions()...), "compress",
		"compress the output; otherwise by the suffix of FILE: "+inWords(
			format.CompressionSuffixes(),
		)).
		sets(option.Compress).notWith("-c")
}

func splitFlag(g group, v *flagValues) {
	g.add(&value[string]{
		target:   new(string),
		kind:     "N|SIZE",
		onlyOnce: true,
		parse:    parseSplit(&v.opt),
	}, "split",
		"write N files, or files of SIZE bytes (such as 4G), split by key range: FILE.000, FILE.001 and so on, and "+
			"FILE.index with their first keys; all appear or none (of tables, perhaps some); otherwise one file").
		sets("Options.SplitFiles", "Options.SplitBytes").notWith("-c")
}
