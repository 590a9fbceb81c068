package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/session"
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
func (g group) add(v pflag.Value, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	usage, otherwise, _ := strings.Cut(usage, "; otherwise ")
	f := g.flags.VarPF(v, name, letter, usage)
	f.DefValue = cmp.Or(otherwise, v.String()) // for the help only: the variable has it
	if words := choices(f); len(words) > 0 {
		f.Usage += ": " + inWords(words)
	}
	return definition{f}
}

// bool defines a flag that has no value.
func (g group) bool(to *bool, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	g.flags.BoolVarP(to, name, letter, false, usage)
	return definition{g.flags.Lookup(name)}
}

// A definition is a flag and what else is known of it. The parser, help, manual pages, completion, docs/cli.md, hints
// and messages all read it.
type definition struct{ *pflag.Flag }

// The annotations of a flag.
const (
	groupTitle  = "group"
	optionField = "field"
	otherNames  = "hints"
	refusedWith = "not with"
	offered     = "offered"
)

func (d definition) note(key string, values ...string) definition {
	if d.Annotations == nil {
		d.Annotations = map[string][]string{}
	}
	d.Annotations[key] = values
	return d
}

// sets names the options of the library that the flag sets. Messages of the library then show the flag.
func (d definition) sets(fields ...option.Field) definition {
	var names []string
	for _, f := range fields {
		names = append(names, string(f))
	}
	return d.note(optionField, names...)
}

// hints lists what other tools call the flag: a user who types one of these is led to it.
func (d definition) hints(names ...string) definition { return d.note(otherNames, names...) }

// notWith lists the modes, of -c and -m, that the flag does not apply to.
func (d definition) notWith(modes ...string) definition { return d.note(refusedWith, modes...) }

// offers lists values for completion, for a flag that accepts others, too.
func (d definition) offers(values ...string) definition { return d.note(offered, values...) }

// directory completes the value as the name of a directory.
func (d definition) directory() definition { return d.note(cobra.BashCompSubdirsInDir) }

// typedName returns a flag as most people type it: -o, --limit.
func typedName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// refused returns an error for each flag of a command line that does not apply to a mode, -c or -m.
func refused(flags *pflag.FlagSet, mode string) (faults []error) {
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[refusedWith], mode) {
			faults = append(faults, fmt.Errorf("%s does not apply to %s: leave it out", typedName(f), mode))
		}
	})
	return faults
}

func recordGroup(spec *format.Spec) group {
	g := newGroup("Record layout: one of -t, -R, -f")
	g.add(&value[string]{to: &spec.Type, kind: "TYPE", once: true, parse: parseTypeName},
		"type,t", "plain numbers: each record is one TYPE (see below)").
		sets(option.Type).hints("dtype").offers(format.NumberTypes...)
	g.add(bytesOf(&spec.RecordSize), "record-size,R",
		"record size in bytes; without -k, records are compared whole, byte by byte").
		sets(option.RecordSize)
	g.add(read(&spec.Keys, "FIELD", func(s string) ([]string, error) {
		text, err := notEmpty(s)
		return append(spec.Keys, keyName(text)), err
	}), "key,k", "FIELD to sort by, OFFSET:TYPE[:desc] or NAME[:desc] (npy) or COLUMN[:desc] (npy, vectors); repeatable: "+
		"the first -k is the most significant").
		sets(option.Keys)
	g.add(single(&spec.Format, "FORMAT"), "format,f",
		"FORMAT of the files: "+format.ContainerHelp()).
		sets(option.Format).offers(format.ContainerNames()...)
	g.add(single(&spec.Member, "NAME"), "member", "the array to sort in an npz archive; otherwise the only one").
		sets(option.Member)
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

func orderGroup(opt *session.Options) group {
	g := newGroup("Order")
	addOrder(g, &opt.Reverse, &opt.Record)
	g.bool(&opt.Unique, "unique,u",
		"write only the first of the records that are equal in all -k fields; with -c, a record that repeats the key of "+
			"the one before it is disorder").
		sets(option.Unique).hints("dedup", "distinct")
	g.add(oneOf(&opt.Keep, "WHICH", "first", "last"), "keep",
		"with -u: which record to write, by its position in the input; otherwise first").
		sets(option.Keep).notWith("-c")
	g.bool(&opt.Count, "count",
		"with -u: append to each record the number of equal records, as a little-endian u64: 8 bytes more").
		sets(option.Count).hints("rows").notWith("-c")
	g.add(oneOf(&opt.Argsort, "TYPE", "u32", "u64"), "argsort",
		"write positions in the input, from 0, as little-endian numbers without a header (NumPy: np.fromfile(FILE, "+
			"\"<u8\") reads u64, \"<u4\" reads u32); otherwise the records").
		sets(option.Argsort).notWith("-c", "-m")
	g.bool(&opt.Duplicates, "duplicates",
		"write only the first record of each key that occurs more than once; -u --count writes how "+
			"often each key occurs").
		sets(option.Duplicates).notWith("-c")
	g.add(read(&opt.Limit, "N", parseLimit), "limit",
		"write only the first N records of the result, without sorting the rest; otherwise all").
		sets(option.Limit).hints("top", "head").notWith("-c")
	g.bool(new(bool), "stable,s", "accepted for compatibility with GNU sort: sorting is always stable")
	return g
}

func outputGroup(name, compress *string) group {
	g := newGroup("Output")
	g.add(single(name, "FILE"), "output,o",
		"write to FILE, completely or not at all; FILE can be an input; otherwise standard output").
		sets(option.Output).notWith("-c")
	g.add(oneOf(compress, "KIND", format.Compressions()...), "compress",
		"compress the output; otherwise by the suffix of FILE: "+inWords(format.CompressionSuffixes())).
		sets(option.Compress).notWith("-c")
	return g
}

// resultGroup is outputGroup of what may be split.
func resultGroup(opt *session.Options) group {
	g := outputGroup(&opt.Output, &opt.Compress)
	g.add(&value[string]{to: new(string), kind: "N|SIZE", once: true, parse: splitOf(opt)}, "split",
		"write N files, or files of SIZE bytes as in 4G: FILE.000, FILE.001 and so on, by key range, and FILE.index with "+
			"their first keys; all appear or none; otherwise one file").
		sets("Options.SplitFiles", "Options.SplitBytes").notWith("-c")
	return g
}

func resourceGroup(opt *session.Options) group {
	opt.Strategy, opt.SpillCompress, opt.Workers = "auto", "auto", processors
	g := newGroup("Resources")
	g.add(size(&opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S",
		"host memory for the whole run, at least 16M, also as 50% of the machine's; otherwise half of it").
		sets(option.MemoryBytes).hints("memory", "mem", "ram")
	g.add(many(&opt.TempDirs, "DIR"), "temporary-directory,T",
		"directory for temporary data; repeatable, used in parallel; otherwise TMPDIR, else /var/tmp").
		sets(option.TempDirs).hints("tmpdir", "tmp", "temp-dir").directory()
	g.add(single(&opt.Checkpoint, "DIR"), "checkpoint",
		"keep finished work in DIR; the same command resumes from it").
		sets(option.Checkpoint).hints("resume").notWith("-c", "-m").directory()
	addParallel(g, &opt.Workers)
	addDevices(g, &opt.Devices)
	g.add(size(&opt.DeviceMemory, "SIZE", parseByteLimit), "device-memory",
		"limit of the memory used on each device; otherwise all free memory").
		sets(option.DeviceMemory)
	g.add(oneOf(&opt.Strategy, "HOW", plan.Requestable()...), "strategy",
		"how chunks become output ("+strategyHints()+")").
		sets(option.Strategy)
	g.add(single(&opt.Algorithm, "NAME"), "algorithm",
		"sort by algorithm NAME, as listed by extsort devices; otherwise the device's choice").
		sets(option.Algorithm)
	g.add(number(&opt.DigitBits, "N", 1), "digit-bits",
		"sort by N bits in each pass on OpenCL devices; otherwise the device's choice").
		sets(option.DigitBits)
	g.add(oneOf(&opt.SpillCompress, "KIND", plan.SpillCodecNames()...), "spill-compress",
		"compression of temporary data").
		sets(option.SpillCompress).hints("compress-program")
	g.add(number(&opt.BatchSize, "N", 2), "batch-size",
		"merge at most N runs at once; otherwise as memory and open files allow").
		sets(option.BatchSize)
	return g
}

// strategyHints explains the strategies whose names do not.
func strategyHints() string {
	var hints []string
	for _, s := range plan.Requestable() {
		if hint := plan.Strategy(s).Properties().Hint; hint != "" {
			hints = append(hints, s+": "+hint)
		}
	}
	return strings.Join(hints, "; ")
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

func (f *reportFlags) group(opt *session.Options) group {
	g := newGroup("Reports, all on standard error")
	addProgress(g, &f.progress, "show progress; auto shows it only on a terminal")
	g.bool(&f.quiet, "quiet,q", "no progress and no warnings, only errors")
	g.add(&value[string]{to: &f.stats, kind: "FORM", words: []string{"text", "json", "json:FILE"}, parse: parseStats},
		"stats", "print what was done, the time of each stage and the resources used").NoOptDefVal = "text"
	g.bool(&f.explain, "explain", "compare the plan's predictions with the measured times").
		notWith("-c")
	g.bool(&opt.Verify, "verify",
		"check that the output is in order and contains the records that were read").
		sets(option.Verify).hints("sum")
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
	g.bool(&f.checkQuiet, "check-quiet,C", "like -c, but silent: see the exit status").
		hints("silent")
	g.bool(&f.join, "join",
		"with -c: FILEs are JSON reports of parts; check that they follow each other, and add them up")
	g.bool(&f.merge, "merge,m", "merge FILEs that are already sorted")
	return g
}

func (f *modeFlags) checking() bool { return f.check != "" || f.checkQuiet }
func (f *modeFlags) quiet() bool    { return f.checkQuiet || f.check == "quiet" || f.check == "silent" }

// Flags that several verbs have.

func addOrder(g group, reverse *bool, record *format.Spec) {
	g.bool(reverse, "reverse,r", "reverse the whole order; equal keys still keep their input order").
		sets(option.Reverse).hints("descending", "desc")
	g.add(oneOf(&record.NaN, "WHERE", "first", "last", "total"), "nan",
		"where NaNs sort, also with -r and :desc; otherwise total: by their signs, so usually last, with :desc first").
		sets(option.NaN)
	g.add(oneOf(&record.Float, "ORDER", "total", "numeric"), "float",
		"order of floats; numeric: -0 equals +0 and all NaNs are equal, and last unless --nan first; otherwise total").
		sets(option.Float)
}

func addDevices(g group, to *[]string) {
	g.add(many(to, "DEVICE"), "device,d",
		"sort on DEVICE: auto, cpu, gpu, a number or name of extsort devices; repeatable; otherwise auto").
		sets("Options.Devices").hints("gpu").offers("auto", "cpu", "gpu")
}

func addParallel(g group, to *int) {
	g.add(number(to, "N", 1), "parallel", "worker threads; otherwise one for each processor").
		sets(option.Workers).hints("threads", "workers", "jobs")
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

// addGroups gives a command its flags and remembers their groups for the help.
func addGroups(cmd *cobra.Command, groups ...group) {
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) { definition{f}.note(groupTitle, g.flags.Name()) })
		cmd.Flags().AddFlagSet(g.flags)
	}
	offerValues(cmd)
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) { showHelp(cmd, args, groups) })
	cmd.SetFlagErrorFunc(explainFlagError)
}

// offerValues registers the values of flags for shell completion.
func offerValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := slices.Concat(choices(f), f.Annotations[offered]); len(words) > 0 {
			// The only error is a second registration, which cannot happen: flag names are unique.
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
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
