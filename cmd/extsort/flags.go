package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// A group is flags that stand under one heading of the help, its name.
type group struct{ flags *pflag.FlagSet }

func newGroup(title string) group {
	g := group{pflag.NewFlagSet(title, pflag.ContinueOnError)}
	g.flags.SortFlags = false
	return g
}

// add defines a flag; name may have a letter after a comma. What holds without it stands behind "; otherwise" in the
// usage, or is the value that there is. The values that there may be stand behind the usage.
func (g group) add(v pflag.Value, name, usage string) *pflag.Flag {
	name, letter, _ := strings.Cut(name, ",")
	usage, otherwise, _ := strings.Cut(usage, "; otherwise ")
	f := g.flags.VarPF(v, name, letter, usage)
	f.DefValue = cmp.Or(otherwise, v.String()) // for the help only: the variable has it
	if words := choices(f); len(words) > 0 {
		f.Usage += ": " + inWords(words)
	}
	return f
}

func recordGroup(spec *format.Spec) group {
	g := newGroup("Record layout: one of -t, -R, -f")
	g.add(&value[string]{to: &spec.Type, kind: "TYPE", once: true, parse: parseTypeName},
		"type,t", "plain numbers: each record is one TYPE (see below)")
	g.add(bytesOf(&spec.RecordSize), "record-size,R",
		"record size in bytes; without -k, records are compared whole, byte by byte")
	g.add(read(&spec.Keys, "FIELD", func(s string) ([]string, error) {
		text, err := notEmpty(s)
		return append(spec.Keys, keyName(text)), err
	}), "key,k", "FIELD to sort by, OFFSET:TYPE[:desc] or NAME[:desc] (npy) or COLUMN[:desc] (npy, vectors); repeatable: "+
		"the first -k is the most significant")
	g.add(single(&spec.Format, "FORMAT"), "format,f",
		"FORMAT of the files: "+format.ContainerHelp())
	g.add(single(&spec.Member, "NAME"), "member", "the array to sort in an npz archive; otherwise the only one")
	return g
}

// validateRecord reports what is wrong with the description. Somebody who gave none may never have seen the help.
func validateRecord(spec format.Spec) error {
	err := spec.Validate()
	if near := nearestType(spec); err != nil && near != "" {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	if slices.Contains([]string{"csv", "tsv", "txt", "text", "json"}, strings.ToLower(spec.Format)) && err != nil {
		return fmt.Errorf("-f %s: text has no fixed-size records: use sort for lines, or convert it to "+
			"binary records",
			spec.Format)
	}
	named := func(key string) bool { return strings.IndexAny(key, "0123456789") != 0 }
	if err != nil && spec.Format == "" && slices.ContainsFunc(spec.Keys, named) {
		err = fmt.Errorf("%w; only NumPy arrays have field names: otherwise use -R BYTES -k OFFSET:TYPE", err)
	}
	if spec.Format+spec.Type == "" && spec.RecordSize == 0 && len(spec.Keys) == 0 {
		return fmt.Errorf("%w (see extsort info FILE)", err)
	}
	return err
}

func orderGroup(opt *extsort.Options) group {
	g := newGroup("Order")
	addOrder(g, &opt.Reverse, &opt.Record)
	g.flags.BoolVarP(&opt.Unique, "unique", "u", false,
		"write only the first of the records that are equal in all -k fields; with -c, a record that repeats the key of "+
			"the one before it is disorder")
	g.add(oneOf(&opt.Keep, "WHICH", "first", "last"), "keep",
		"with -u: which record to write, by its position in the input; otherwise first")
	g.flags.BoolVar(&opt.Count, "count", false,
		"with -u: append to each record the number of equal records, as a little-endian u64: 8 bytes more")
	g.add(oneOf(&opt.Argsort, "TYPE", "u32", "u64"), "argsort",
		"write positions in the input, from 0, as little-endian numbers without a header (NumPy: np.fromfile(FILE, "+
			"\"<u8\") reads u64, \"<u4\" reads u32); otherwise the records")
	g.flags.BoolVar(&opt.Duplicates, "duplicates", false,
		"write only the first record of each key that occurs more than once; -u --count writes how "+
			"often each key occurs")
	g.add(read(&opt.Limit, "N", parseLimit), "limit",
		"write only the first N records of the result, without sorting the rest; otherwise all")
	g.flags.BoolP("stable", "s", false, "accepted for compatibility with GNU sort: sorting is always stable")
	return g
}

func outputGroup(name, compress *string) group {
	g := newGroup("Output")
	g.add(single(name, "FILE"), "output,o",
		"write to FILE, completely or not at all; FILE can be an input; otherwise standard output")
	g.add(oneOf(compress, "KIND", format.Compressions()...), "compress",
		"compress the output; otherwise by the suffix of FILE: "+inWords(format.CompressionSuffixes()))
	return g
}

// resultGroup is outputGroup of what may be split.
func resultGroup(opt *extsort.Options) group {
	g := outputGroup(&opt.Output, &opt.Compress)
	g.add(&value[string]{to: new(string), kind: "N|SIZE", once: true, parse: splitOf(opt)}, "split",
		"write N files, or files of SIZE bytes as in 4G: FILE.000, FILE.001 and so on, by key range, and FILE.index with "+
			"their first keys; all appear or none; otherwise one file")
	return g
}

func resourceGroup(opt *extsort.Options) group {
	opt.Strategy, opt.SpillCompress, opt.Workers = "auto", "auto", processors
	g := newGroup("Resources")
	g.add(size(&opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S",
		"host memory for the whole run, at least 16M, also as 50% of the machine's; otherwise half of it")
	g.add(many(&opt.TempDirs, "DIR"), "temporary-directory,T",
		"directory for temporary data; repeatable, used in parallel; otherwise TMPDIR, else /var/tmp")
	g.add(single(&opt.Checkpoint, "DIR"), "checkpoint",
		"keep finished work in DIR; the same command resumes from it")
	addParallel(g, &opt.Workers)
	addDevices(g, &opt.Devices)
	g.add(size(&opt.DeviceMemory, "SIZE", parseByteLimit), "device-memory",
		"limit of the memory used on each device; otherwise all free memory")
	g.add(oneOf(&opt.Strategy, "HOW", "auto", "merge", "partition", "spread", "reread", "sift"), "strategy",
		"how chunks become output (reread: multi-pass; sift: nearly in order)")
	g.add(single(&opt.Algorithm, "NAME"), "algorithm",
		"sort by algorithm NAME, as listed by extsort devices; otherwise the device's choice")
	g.add(number(&opt.DigitBits, "N", 1), "digit-bits",
		"sort by N bits in each pass on OpenCL devices; otherwise the device's choice")
	g.add(oneOf(&opt.SpillCompress, "KIND", plan.SpillCodecNames()...), "spill-compress",
		"compression of temporary data")
	g.add(number(&opt.BatchSize, "N", 2), "batch-size",
		"merge at most N runs at once; otherwise as memory and open files allow")
	return g
}

// reportFlags say what is told of a run.
type reportFlags struct {
	progress string
	stats    string // "", text, json or json:FILE
	explain  bool
	quiet    bool

	side   *sideFile // of json:FILE; nil: there is none, or it is not open yet
	result any       // of the run, for JSON; nil: it did not come so far
}

func (f *reportFlags) group(opt *extsort.Options) group {
	g := newGroup("Reports, all on standard error")
	addProgress(g, &f.progress, "show progress; auto shows it only on a terminal")
	g.flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress and no warnings, only errors")
	g.add(&value[string]{to: &f.stats, kind: "FORM", words: []string{"text", "json", "json:FILE"}, parse: parseStats},
		"stats", "print what was done, the time of each phase and the resources used").NoOptDefVal = "text"
	g.flags.BoolVar(&f.explain, "explain", false, "compare the plan's predictions with the measured times")
	g.flags.BoolVar(&opt.Verify, "verify", false,
		"check that the output is in order and contains the records that were read")
	return g
}

// modeFlags turn the sort into something else.
type modeFlags struct {
	check      string // "", diagnose-first or quiet
	checkQuiet bool
	join       bool
	merge      bool
}

func (f *modeFlags) group() group {
	g := newGroup("Instead of sorting")
	g.add(oneOf(&f.check, "HOW", "diagnose-first", "quiet", "silent"), "check,c",
		"only check that FILE is sorted").NoOptDefVal = "diagnose-first"
	g.flags.BoolVarP(&f.checkQuiet, "check-quiet", "C", false, "like -c, but silent: see the exit status")
	g.flags.BoolVar(&f.join, "join", false,
		"with -c: FILEs are JSON reports of parts; check that they follow each other, and add them up")
	g.flags.BoolVarP(&f.merge, "merge", "m", false, "merge FILEs that are already sorted")
	return g
}

func (f *modeFlags) checking() bool { return f.check != "" || f.checkQuiet }
func (f *modeFlags) quiet() bool    { return f.checkQuiet || f.check == "quiet" || f.check == "silent" }

// Flags that several verbs have.

func addOrder(g group, reverse *bool, record *format.Spec) {
	g.flags.BoolVarP(reverse, "reverse", "r", false, "reverse the whole order; equal keys still keep their input order")
	g.add(oneOf(&record.NaN, "WHERE", "first", "last", "total"), "nan",
		"where NaNs sort, also with -r and :desc; otherwise total: by their signs, so usually last, with :desc first")
	g.add(oneOf(&record.Float, "ORDER", "total", "numeric"), "float",
		"order of floats; numeric: -0 equals +0 and all NaNs are equal, and last unless --nan first; otherwise total")
}

func addDevices(g group, to *[]string) {
	g.add(many(to, "DEVICE"), "device,d",
		"sort on DEVICE: auto, cpu, gpu, a number or name of extsort devices; repeatable; otherwise auto")
}

func addParallel(g group, to *int) {
	g.add(number(to, "N", 1), "parallel", "worker threads; otherwise one for each processor")
}

func addProgress(g group, to *string, usage string) {
	*to = "auto"
	g.add(oneOf(to, "WHEN", "auto", "always", "never"), "progress", usage)
}

// without hides flags that a verb accepts for the sake of scripts, although they change nothing there.
func (g group) without(names ...string) group {
	for _, name := range names {
		g.flags.Lookup(name).Hidden = true
	}
	return g
}

// groupTitle is the annotation of a flag that has the title of its group.
const groupTitle = "group"

// addGroups gives a command its flags and remembers their groups for the help.
func addGroups(cmd *cobra.Command, groups ...group) {
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) { f.Annotations = map[string][]string{groupTitle: {g.flags.Name()}} })
		cmd.Flags().AddFlagSet(g.flags)
	}
	offerValues(cmd)
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) { showHelp(cmd, args, groups) })
	cmd.SetFlagErrorFunc(explainFlagError)
}

// offerValues tells the shells what values the flags have.
func offerValues(cmd *cobra.Command) {
	offered := map[string][]string{
		"type":   format.NumberTypes,
		"format": format.ContainerNames(),
		"device": {"auto", "cpu", "gpu"},
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := slices.Concat(choices(f), offered[f.Name]); len(words) > 0 {
			// The one error that there is, a second registration, cannot happen: flag names are unique.
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	for _, name := range []string{"temporary-directory", "checkpoint"} {
		_ = cmd.MarkFlagDirname(name) // unless the command has no such flag
	}
}

// explainFlagError makes one helpful line of what pflag says.
func explainFlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return fmt.Errorf("%s needs a value: --%s %s", flagName(f), f.Name, f.Value.Type())
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("%s: %w", flagName(invalid.GetFlag()), invalid.Unwrap())
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	return err
}

// flagName names a flag as people know it: by its letter, if it has one, and its long name.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}
