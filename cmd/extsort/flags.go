package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// A group contains the flags below one heading of the help. The name of the set is the heading.
type group struct{ flags *pflag.FlagSet }

func newGroup(title string) group {
	g := group{pflag.NewFlagSet(title, pflag.ContinueOnError)}
	g.flags.SortFlags = false
	return g
}

// add defines a flag. name may end in a comma and a letter. If the usage contains "; otherwise",
// the help shows the text after it as the default. If not, the default is the current value of v.
// The help lists the possible values after the usage.
func (g group) add(v pflag.Value, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	usage, otherwise, _ := strings.Cut(usage, "; otherwise ")
	f := g.flags.VarPF(v, name, letter, usage)
	// DefValue is only shown in the help. The variable already has its default.
	f.DefValue = cmp.Or(otherwise, v.String())
	words := choices(f)
	if len(words) > 0 {
		f.Usage += ": " + inWords(words)
	}
	return definition{f}
}

// bool defines a flag without a value.
func (g group) bool(to *bool, name, usage string) definition {
	name, letter, _ := strings.Cut(name, ",")
	g.flags.BoolVarP(to, name, letter, false, usage)
	return definition{g.flags.Lookup(name)}
}

// A definition is a flag with annotations. The parser, help, manual pages, completion,
// docs/cli.md, hints and messages all use them.
type definition struct{ *pflag.Flag }

// The annotations of a flag.
const (
	groupTitle    = "group"
	optionField   = "field"
	otherNames    = "hints"
	refusedWith   = "not with"
	neededFlag    = "needs"
	impliedFlag   = "implies"
	reasonNotIn   = "not in " // and a verb
	offeredValues = "offered"
)

func (d definition) annotate(key string, values ...string) definition {
	if d.Annotations == nil {
		d.Annotations = map[string][]string{}
	}
	d.Annotations[key] = values
	return d
}

// sets names the library options that the flag sets. Messages of the library then name the flag.
func (d definition) sets(fields ...option.Field) definition {
	var names []string
	for _, f := range fields {
		names = append(names, string(f))
	}
	return d.annotate(optionField, names...)
}

// hints lists the names of the flag in other tools, so that a user who types one of them finds
// the flag.
func (d definition) hints(names ...string) definition {
	return d.annotate(otherNames, names...)
}

// notWith lists flags that cannot be combined with this flag. They are written in their usual form,
// -c or --join, or as -c=quiet for one value of a flag.
func (d definition) notWith(others ...string) definition {
	return d.annotate(refusedWith, others...)
}

// needs names another flag that is required for this flag to have an effect.
func (d definition) needs(other string) definition {
	return d.annotate(neededFlag, other)
}

// implies names a flag that this flag includes. The notWith list of that flag then also applies to
// this flag.
func (d definition) implies(other string) definition {
	return d.annotate(impliedFlag, other)
}

// offers lists values for the completion of a flag that also accepts other values.
func (d definition) offers(values ...string) definition {
	return d.annotate(offeredValues, values...)
}

// notIn gives the reason why a verb does not have the flag. A user who tries it there sees the
// reason.
func (d definition) notIn(verb, reason string) definition {
	return d.annotate(reasonNotIn+verb, reason)
}

// directory completes the value as the name of a directory.
func (d definition) directory() definition {
	return d.annotate(cobra.BashCompSubdirsInDir)
}

// typedName returns the usual form of a flag: -o, --limit.
func typedName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// conflicts returns an error for each flag of a command line that conflicts with another flag or
// lacks a flag that it needs.
func conflicts(flags *pflag.FlagSet) (faults []error) {
	given := givenFlags(flags)
	flags.Visit(func(f *pflag.Flag) {
		for _, other := range f.Annotations[refusedWith] {
			if given[other] {
				faults = append(
					faults,
					fmt.Errorf(
						"%s does not apply to %s: leave it out",
						typedName(f),
						other,
					),
				)
				return
			}
		}
		for _, other := range f.Annotations[neededFlag] {
			if !given[other] {
				faults = append(
					faults,
					fmt.Errorf("%s only works with %s", typedName(f), other),
				)
			}
		}
	})
	return faults
}

// givenFlags returns the flags of a command line in the form that notWith expects.
func givenFlags(flags *pflag.FlagSet) map[string]bool {
	given := map[string]bool{}
	flags.Visit(func(f *pflag.Flag) {
		name := typedName(f)
		given[name] = true
		given[name+"="+f.Value.String()] = true
		for _, other := range f.Annotations[impliedFlag] {
			given[other] = true
		}
	})
	return given
}

// The description of a record.

func typeFlag(g group, v *flagValues) {
	g.add(&value[string]{
		target:   &v.opt.Record.Type,
		kind:     "TYPE",
		onlyOnce: true,
		parse:    parseTypeName,
	},
		"type,t", "plain numbers: each record is one TYPE").
		sets(option.Type).hints("dtype").notWith("--join").offers(format.NumberTypes...)
}

func recordSizeFlag(g group, v *flagValues) {
	g.add(byteCount(&v.opt.Record.RecordSize), "record-size,R",
		"record size in bytes; without -k, records are compared whole, byte by byte").
		sets(option.RecordSize).notWith("--join")
}

func keyFlag(g group, v *flagValues) {
	keys := &v.opt.Record.Keys
	parse := func(s string) ([]string, error) {
		text, err := notEmpty(s)
		return append(*keys, keyName(text)), err
	}
	g.add(parsed(keys, "FIELD", parse), "key,k",
		"a key to sort by: OFFSET:TYPE[:desc] (OFFSET in bytes, from 0), NAME[:desc] (npy, --fields) or COLUMN[:desc] (npy, "+
			"vectors; from 0); repeat -k for more keys, the most significant first").
		sets(option.Keys).notWith("--join").
		notIn(
			"shuffle",
			"the order does not depend on the contents of the records",
		)
}

func fieldsFlag(g group, v *flagValues) {
	g.add(&value[string]{
		target:   &v.opt.Record.Fields,
		kind:     "LIST",
		onlyOnce: true,
		parse:    parseFieldList,
	}, "fields",
		"names of the fields: 'NAME=OFFSET:TYPE ...', or @F to read the list from file F; -k NAME then names a key, and "+
			"-R is needed only if a record is longer than its fields; otherwise fields have no names").
		sets(option.Fields).hints(
		"schema", "columns", "struct",
	).notWith("--join")
}

// maxFieldList bounds a file with a list of fields in bytes.
const maxFieldList = 1 << 20

// parseFieldList reads a description of fields, or the file that contains it.
func parseFieldList(s string) (string, error) {
	text, err := notEmpty(s)
	if err != nil {
		return "", err
	}
	where := ""
	name, isFile := strings.CutPrefix(text, "@")
	if isFile {
		where = name + ": "
		if text, err = readFieldList(name); err != nil {
			return "", err
		}
	}
	if _, err := format.ParseFields(text); err != nil {
		_, missing := os.Stat(s)
		if missing == nil {
			return "", fmt.Errorf(
				"%w (to read the list from a file: @%s)", err, s,
			)
		}
		return "", fmt.Errorf("%s%w%s", where, err, fieldHint(text))
	}
	return text, nil
}

func readFieldList(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	defer file.Close() // closing a file that was only read cannot lose data
	text, err := io.ReadAll(io.LimitReader(file, maxFieldList+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, device.WithoutPath(err))
	case len(text) > maxFieldList:
		return "", fmt.Errorf(
			"%s is longer than 1 MiB, so it is not a list of fields", name,
		)
	}
	return string(text), nil
}

// fieldHint returns a suggestion for the first unknown type in a list of fields.
func fieldHint(list string) string {
	for word := range strings.FieldsSeq(strings.ReplaceAll(list, ",", " ")) {
		_, place, _ := strings.Cut(word, "=")
		name := place[strings.LastIndex(place, ":")+1:]
		_, known := format.NamedType(name)
		if known || name == "" {
			continue
		}
		if near := typeHint(name); near != "" {
			return " (did you mean " + near + "?)"
		}
	}
	return ""
}

func formatFlag(g group, v *flagValues) { addFormat(g, v) }

// recognizedFormatFlag is formatFlag for verbs that recognize arrays.
func recognizedFormatFlag(g group, v *flagValues) {
	addFormat(g, v).DefValue = "npy if FILE is a NumPy array"
}

func addFormat(g group, v *flagValues) definition {
	return g.add(text(&v.opt.Record.Format, "FORMAT"), "format,f",
		"file format; "+format.ContainerHelp()).
		sets(option.Format).notWith("--join").offers(format.ContainerNames()...)
}

func memberFlag(g group, v *flagValues) {
	g.add(
		text(&v.opt.Record.Member, "NAME"),
		"member",
		"the array to sort in an npz archive; otherwise the only one",
	).
		sets(option.Member).notWith("--join")
}

// validateRecord returns errors in a record description. If there is no description at all, the
// error refers to the help.
func validateRecord(spec format.Spec) error {
	err := spec.Validate()
	near := nearestType(spec)
	if err != nil && near != "" {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	if slices.Contains([]string{"csv", "tsv", "txt", "text", "json"}, strings.ToLower(spec.Format)) &&
		err != nil {
		return fmt.Errorf("-f %s: text has no fixed-size records: use sort for lines, or convert it to "+
			"binary records",
			spec.Format)
	}
	isName := func(key string) bool {
		return strings.IndexAny(key, "0123456789") != 0
	}
	i := slices.IndexFunc(spec.Keys, isName)
	if i >= 0 && err != nil &&
		spec.Format+spec.Fields == "" {
		// One error for all such keys, instead of one for each.
		return fmt.Errorf("key %q: only NumPy arrays have field names (for a pipe, add -f npy); "+
			"otherwise use --fields or -R BYTES -k OFFSET:TYPE", spec.Keys[i])
	}
	if spec.Format+spec.Type+spec.Fields == "" && spec.RecordSize == 0 &&
		len(spec.Keys) == 0 {
		return fmt.Errorf("%w (see extsort info FILE)", err)
	}
	return err
}

// The order of the result.

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

// The output.

func outputFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Output, "FILE"), "output,o",
		"write to FILE, completely or not at all; FILE can be an input; otherwise standard output").
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
			"FILE.index with their first keys; all files appear or none; otherwise one file").
		sets("Options.SplitFiles", "Options.SplitBytes").notWith("-c")
}

// The resources of a run.

func memoryFlag(g group, v *flagValues) {
	g.add(amount(&v.opt.MemoryBytes, "SIZE", parseMemory), "buffer-size,S",
		"memory limit of the whole run, at least 16M, or a percentage of the machine's memory; otherwise 50%").
		sets(option.MemoryBytes).hints("memory", "mem", "ram").notWith("--join")
}

func tempDirFlag(g group, v *flagValues) {
	g.add(textList(&v.opt.TempDirs, "DIR"), "temporary-directory,T",
		"directory for temporary data; repeat -T to use several disks in parallel; otherwise TMPDIR, else /var/tmp").
		sets(option.TempDirs).hints(
		"tmpdir", "tmp", "temp-dir",
	).notWith("-c").directory()
}

func checkpointFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Checkpoint, "DIR"), "checkpoint",
		"keep finished work in DIR; after a crash, the same command resumes from it").
		sets(option.Checkpoint).hints("resume").notWith("-c", "-m").directory()
}

func parallelFlag(g group, v *flagValues) {
	v.opt.Workers = processors
	g.add(
		wholeNumber(&v.opt.Workers, "N", 1),
		"parallel",
		"number of worker threads; otherwise one for each processor",
	).
		sets(option.Workers).hints(
		"threads", "workers", "jobs",
	).notWith("--join")
}

func deviceFlag(g group, v *flagValues) {
	g.add(textList(&v.opt.Devices, "DEVICE"), "device,d",
		"sort on DEVICE: auto, cpu, gpu, or a number or name from extsort devices; repeatable; otherwise auto").
		sets("Options.Devices").hints("gpu").notWith("-c", "-m").offers("auto", "cpu", "gpu")
}

func deviceMemoryFlag(g group, v *flagValues) {
	g.add(amount(&v.opt.DeviceMemory, "SIZE", parseByteLimit), "device-memory",
		"limit the memory used on each device; otherwise all free memory").
		sets(option.DeviceMemory).notWith("-c", "-m")
}

func strategyFlag(g group, v *flagValues) {
	v.opt.Strategy = "auto"
	g.add(oneOf(&v.opt.Strategy, "HOW", plan.Requestable()...), "strategy",
		"strategy of the sort ("+strategyHints()+")").
		sets(option.Strategy).notWith("-c", "-m")
}

func algorithmFlag(g group, v *flagValues) {
	g.add(text(&v.opt.Algorithm, "NAME"), "algorithm",
		"sort with algorithm NAME (extsort devices lists them); otherwise the device's choice").
		sets(option.Algorithm).notWith("-c", "-m")
}

func digitBitsFlag(g group, v *flagValues) {
	g.add(wholeNumber(&v.opt.DigitBits, "N", 1), "digit-bits",
		"on OpenCL devices, sort by N bits in each pass; otherwise the device's choice").
		sets(option.DigitBits).notWith("-c", "-m")
}

func spillCompressFlag(g group, v *flagValues) {
	v.opt.SpillCompress = "auto"
	g.add(oneOf(
		&v.opt.SpillCompress, "KIND", plan.SpillCodecNames()...,
	), "spill-compress",
		"compression of temporary data").
		sets(option.SpillCompress).hints("compress-program").notWith("-c")
}

func batchSizeFlag(g group, v *flagValues) {
	g.add(wholeNumber(&v.opt.BatchSize, "N", 2), "batch-size",
		"merge at most N runs at once; otherwise as many as memory and open files allow").
		sets(option.BatchSize).notWith("-c")
}

// strategyHints describes the strategies whose names are not self-explanatory.
func strategyHints() string {
	var hints []string
	for _, s := range plan.Requestable() {
		hint := plan.Strategy(s).Properties().Hint
		if hint != "" {
			hints = append(hints, s+": "+hint)
		}
	}
	return strings.Join(hints, "; ")
}

// reportFlags selects the reports about a run.
type reportFlags struct {
	progress string
	stats    string // "", text, json or json:FILE
	explain  bool
	quiet    bool

	side   *sideFile // the FILE of json:FILE; nil: none, or not open yet
	result any       // result of the run, for JSON; nil: the run failed earlier
}

func progressFlag(g group, v *flagValues) {
	v.report.progress = "auto"
	g.add(oneOf(
		&v.report.progress, "WHEN", "auto", "always", "never",
	), "progress",
		"show progress on standard error; auto shows it only on a terminal").
		notWith("-q", "-C", "-c=quiet", "-c=silent", "--join")
}

func quietFlag(g group, v *flagValues) {
	g.bool(
		&v.report.quiet, "quiet,q", "no progress and no warnings, only errors",
	).notWith("--join")
}

func statsFlag(g group, v *flagValues) {
	stats := &value[string]{
		target:  &v.report.stats,
		kind:    "FORM",
		allowed: []string{"text", "json", "json:FILE"},
	}
	stats.parse = parseStats
	g.add(
		stats,
		"stats",
		"report what was done, the time of each stage and the resources used",
	).NoOptDefVal = "text"
}

func explainFlag(g group, v *flagValues) {
	g.bool(
		&v.report.explain,
		"explain",
		"compare the plan's predictions with the measured times",
	).
		notWith("-c")
}

func verifyFlag(g group, v *flagValues) {
	g.bool(&v.opt.Verify, "verify",
		"check that the output is in order and contains the records that were read").
		sets(option.Verify).hints("sum").notWith("-c").
		notIn("shuffle", "a random order cannot be checked")
}

// modeFlags selects an operation other than sorting.
type modeFlags struct {
	check      string // "", diagnose-first or quiet
	checkQuiet bool
	join       bool
	merge      bool
	version    bool
}

func modeFlagsOfSort(g group, v *flagValues) {
	f := &v.mode
	g.add(oneOf(
		&f.check, "HOW", "diagnose-first", "quiet", "silent",
	), "check,c",
		"only check that FILE is sorted").NoOptDefVal = "diagnose-first"
	g.bool(
		&f.checkQuiet,
		"check-quiet,C",
		"like -c, but report only by the exit status",
	).
		hints("silent").implies("-c")
	g.bool(&f.join, "join",
		"read JSON reports of parts (with -c), check that the parts follow each other, and print the totals").
		needs("-c")
	g.bool(&f.merge, "merge,m", "merge FILEs that are already sorted")
	g.bool(&f.version, "version,V", "print the version")
}

func (f *modeFlags) isCheck() bool {
	return f.check != "" || f.checkQuiet
}
func (f *modeFlags) isQuiet() bool {
	return f.checkQuiet || f.check == "quiet" || f.check == "silent"
}

// addGroups gives a command its flags and remembers their groups for the help.
func addGroups(cmd *cobra.Command, groups ...group) {
	cmd.Flags().SortFlags = false
	for _, g := range groups {
		g.flags.VisitAll(func(f *pflag.Flag) {
			definition{f}.annotate(groupTitle, g.flags.Name())
		})
		cmd.Flags().AddFlagSet(g.flags)
	}
	offerValues(cmd)
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		showHelp(cmd, args, groups)
	})
	cmd.SetFlagErrorFunc(explainFlagError)
}

// offerValues registers the values of flags for shell completion.
func offerValues(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		words := slices.Concat(choices(f), f.Annotations[offeredValues])
		if len(words) > 0 {
			// An error would mean a second registration, which is impossible, because flag names
			// are unique.
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(
					words, cobra.ShellCompDirectiveNoFileComp,
				))
		}
	})
}

// hideConflicts prevents completion from offering flags that conflict with flags already on the
// command line. Cobra's own check for conflicts is not used, because its message is not a single
// helpful line.
func hideConflicts(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, other := range f.Annotations[refusedWith] {
			conflicting := flagTyped(cmd.Flags(), other)
			if conflicting != nil {
				cmd.MarkFlagsMutuallyExclusive(f.Name, conflicting.Name)
			}
		}
	})
	for _, below := range cmd.Commands() {
		hideConflicts(below)
	}
}

// flagTyped returns the flag with this usual form (-o, --limit), or nil.
func flagTyped(flags *pflag.FlagSet, name string) *pflag.Flag {
	long, ok := strings.CutPrefix(name, "--")
	if ok {
		return flags.Lookup(long)
	}
	letter := strings.TrimPrefix(name, "-")
	if len(letter) == 1 {
		return flags.ShorthandLookup(letter)
	}
	return nil
}

// explainFlagError converts an error of pflag to one helpful line.
func explainFlagError(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := missing.GetFlag()
		return fmt.Errorf(
			"%s needs a value: --%s %s", flagName(f), f.Name, f.Value.Type(),
		)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf(
			"%s: %w", flagName(invalid.GetFlag()), invalid.Unwrap(),
		)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(cmd, unknown)
	}
	return err
}

// flagName returns the letter of a flag, if it has one, and its long name.
func flagName(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "--" + f.Name
	}
	return "-" + f.Shorthand + ", --" + f.Name
}
