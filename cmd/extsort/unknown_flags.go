package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// gnuFlags maps flags of GNU sort that extsort lacks to ways to get the same effect.
var gnuFlags = map[string]string{
	"b": "records have no blanks to ignore",
	"g": "numbers are binary here: use -t f64 or -k OFFSET:f64",
	"i": "bytes are compared as they are: use -k OFFSET:bytesN",
	"j": "use --parallel N for N threads",
	"M": "extsort does not know names of months: use -k OFFSET:TYPE",
	"n": "numbers are binary here: use -t TYPE or -k OFFSET:TYPE (only gen, plan and tune have -n COUNT)",
	"v": "-V prints the version, and --stats a report",
	"z": "records have a fixed size, not a final byte: use -R BYTES",

	"dry-run":         "use extsort plan",
	"input":           "name the FILE to read without a flag",
	"field-separator": "fields have no separator here: use -R BYTES -k OFFSET:TYPE",
	"random-sort":     "use extsort shuffle for a random order",
	"sort":            "the TYPE of -t or -k says how to compare; use extsort shuffle for a random order",
	"version-sort":    "extsort does not know names of versions: use -k OFFSET:TYPE",
}

// gnuNames maps long names of flags to the letters in gnuFlags.
var gnuNames = map[string]string{
	"ignore-leading-blanks": "b", "general-numeric-sort": "g", "dictionary-order": "i", "ignore-case": "i",
	"ignore-nonprinting": "i", "in": "input", "month-sort": "M", "numeric-sort": "n", "human-numeric-sort": "n",
	"zero-terminated": "z",
}

// unknownFlag returns an error that suggests a similar flag, the verbs that have the flag, or the
// verb with this name.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	given := unknown.GetSpecifiedName()
	name := unknownName(unknown)
	others := verbsWith(given)
	hint := flagHint(cmd, given, others)
	if cmd.Name() == "find" && strings.Trim(given, "0123456789.") == "" {
		hint = "write -- before a negative KEY"
	}
	if elsewhere := flagElsewhere(cmd, unknown); elsewhere != nil {
		name = flagName(elsewhere)
		hint = cmp.Or(
			strings.Join(elsewhere.Annotations[reasonNotIn+cmd.Name()], ""),
			hint,
		)
	}
	if _, err := os.Stat(cmd.Name()); cmd.HasParent() && err == nil {
		hint += fmt.Sprintf(" (the file %s is ./%s)", cmd.Name(), cmd.Name())
	}
	if len(others) > 0 {
		return fmt.Errorf(
			"%s does not apply to %s: %s", name, cmd.CommandPath(), hint,
		)
	}
	return fmt.Errorf("unknown flag %s: %s", name, hint)
}

// unknownName returns the name of an unknown flag with its dashes.
func unknownName(unknown *pflag.NotExistError) string {
	if unknown.GetSpecifiedShortnames() != "" {
		return "-" + unknown.GetSpecifiedName()
	}
	return "--" + unknown.GetSpecifiedName()
}

// flagHint returns advice for a flag that a command lacks. others lists the verbs that have it.
func flagHint(cmd *cobra.Command, given string, others []string) string {
	gnu := gnuFlags[cmp.Or(gnuNames[given], given)]
	if gnu != "" && cmd.Flags().Lookup("key") != nil {
		return gnu
	}
	if near := nearestFlag(cmd.Flags(), given); near != "" {
		return "did you mean --" + near + "?"
	}
	if len(others) > 0 && !slices.Contains(others, "sort") {
		return "it is a flag of extsort " + english.WordSeries(others, "and")
	}
	return cmd.CommandPath() + " --help lists the flags"
}

// flagElsewhere returns the flag of the sort that a verb does not have, or nil.
func flagElsewhere(
	cmd *cobra.Command, unknown *pflag.NotExistError,
) *pflag.Flag {
	flags := cmd.Root().Flags()
	if !cmd.HasParent() {
		return nil
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return flags.ShorthandLookup(unknown.GetSpecifiedName())
	}
	return flags.Lookup(unknown.GetSpecifiedName())
}

// nearestFlag returns the flag for which name is an abbreviation, a misspelling or the name in
// another tool, or "".
func nearestFlag(flags *pflag.FlagSet, name string) string {
	var known []string
	other := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[otherNames], name) {
			other = f.Name
		}
		// --raw disables checks, so do not suggest it for a similar name.
		if f.Name != "raw" || strings.HasPrefix("raw", name) {
			known = append(known, f.Name)
		}
	})
	return cmp.Or(other, nearestWord(name, known))
}
