package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
)

// The functions in this file correct mistakes if the meaning is certain. Otherwise the error asks "did you mean …?".

// guess sets the format if the inputs begin like NumPy arrays or archives, and no flag describes the records. -k then
// names fields.
func (f *sortFlags) guess(files []string) {
	r := &f.opt.Record
	open := r.Type+r.Format == "" && r.RecordSize == 0 && !f.opt.Raw && f.opt.SkipBytes == 0
	if !open || len(files) == 0 {
		return
	}
	if c, ok := format.ByMagic(beginning(files[0])); ok {
		r.Format = c.Name
	}
}

// beginning returns the first bytes of a file. A pipe is not looked at: that would take them away.
func beginning(name string) []byte {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer file.Close()
	first := make([]byte, format.DetectBytes)
	n, _ := io.ReadFull(file, first) // what cannot be read is found again
	return first[:n]
}

// otherVerbs maps verbs that users may expect to the way to do the same here.
var otherVerbs = map[string]string{
	"sort": "extsort FILE", "check": "extsort -c", "verify": "extsort -c", "merge": "extsort -m",
	"uniq": "extsort -u",
	"head": "extsort --limit N", "top": "extsort --limit N", "shuf": "extsort shuffle", "stat": "extsort info",
	"text": "extsort --stats=text", "json": "extsort --stats=json", "quiet": "extsort -c=quiet",
}

// missingVerbs are verbs that extsort does not have, with what helps instead.
var missingVerbs = map[string]string{
	"find": "extsort has no find yet: sort the file, then search it with numpy.memmap and searchsorted",
	"join": "extsort has no join yet: extsort -m --duplicates finds the keys that sorted files have in common",
	"cat":  "extsort has no cat: extsort -m merges sorted files, and cat appends plain records",
}

// mistakenVerb is an error where the first operand is no file, but a verb elsewhere, or nearly one of ours and nothing
// says what a record is.
func (f *sortFlags) mistakenVerb(files []string, verbs []*cobra.Command) error {
	if len(files) == 0 {
		return nil
	}
	missing := func(name string) bool { _, err := os.Stat(name); return errors.Is(err, os.ErrNotExist) }
	first, last, r := files[0], files[len(files)-1], f.opt.Record
	writes := f.opt.Output == "" && !f.mode.checking() && last != "-" && !strings.Contains(last, "://")
	switch other := otherVerbs[first]; {
	case missing(first) && missingVerbs[first] != "":
		return errors.New(missingVerbs[first])
	case len(files) == 2 && writes && !missing(first) && missing(last):
		return fmt.Errorf("%s: no such file to read (to write it: -o %s)", last, last)
	case missing(first) && other != "":
		return fmt.Errorf("%s: no such file or command: use %s", first, other)
	case missing(first) && r.Type+r.Format == "" && r.RecordSize == 0 && len(r.Keys) == 0:
		if near := nearest(first, names(verbs)); near != "" {
			return fmt.Errorf("%s: no such file or command: did you mean extsort %s?", first, near)
		}
	}
	return nil
}

// typeName is a type as format.ParseType reads it, of one of the names that other programs have: uint64, Double, U64,
// u32le, NumPy's <u8. What is none of these stays as it is.
func typeName(s string) string {
	if _, err := format.ParseType(s); err == nil {
		return s
	}
	if t, ok := format.NamedType(s); ok {
		return t.String()
	}
	return s
}

// parseTypeName reads the value of -t. GNU sort's -t has a separator.
func parseTypeName(s string) (string, error) {
	if len(s) == 1 && strings.ContainsAny(s, ",;:| \t") || strings.HasPrefix(s, `\`) {
		return "", fmt.Errorf("%q: fields have no separator here: -t TYPE means plain numbers; use -R BYTES "+
			"-k OFFSET:TYPE for a field", s)
	}
	text, err := notEmpty(s)
	return typeName(text), err
}

// keyName is a key whose type has one of the other names. Names of NumPy's fields stay as they are.
func keyName(s string) string {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) > 1 && parts[0] != "" && strings.Trim(parts[0], "0123456789") == "" {
		parts[1] = typeName(parts[1])
		if len(parts) == 3 && (strings.EqualFold(parts[2], "desc") || strings.EqualFold(parts[2], "asc")) {
			parts[2] = strings.ToLower(parts[2])
		}
	}
	return strings.Join(parts, ":")
}

// nearestType is the type that an unknown one of a record's description resembles most, or "".
func nearestType(spec format.Spec) string {
	words := []string{spec.Type}
	for _, key := range spec.Keys {
		if _, rest, ok := strings.Cut(key, ":"); ok && spec.Format == "" {
			name, _, _ := strings.Cut(rest, ":")
			words = append(words, name)
		}
	}
	for _, word := range words {
		if _, err := format.ParseType(word); err != nil && word != "" {
			if hint := typeHint(word); hint != "" {
				return hint
			}
		}
	}
	return ""
}

// ambiguousBytes is NumPy's name for N bytes where signed integers of N bits have nearly the same one.
var ambiguousBytes = regexp.MustCompile(`^S([0-9]+)$`)

// countlessTypes need a number behind their name, for which the hint has an example.
var countlessTypes = map[string]string{
	"bytes": "bytes10", "char": "bytes10", "string": "bytes10", "str": "bytes10", "ch": "bytes10", "ucs": "ucs10",
	"fi": "FI4, which is i32be", "bi": "BI4, which is u32be",
}

// typeHint is the type that an unknown one may have been meant to be, or "". It has the kind, the width and the byte
// order of the word: by another width or kind, numbers would be torn apart or put into another order.
func typeHint(word string) string {
	if parts := ambiguousBytes.FindStringSubmatch(word); parts != nil {
		return "bytes" + parts[1] + " or i" + parts[1]
	}
	if example := countlessTypes[strings.ToLower(word)]; example != "" {
		return example
	}
	lower := strings.TrimSuffix(strings.ToLower(word), "_t")
	kind, number, order := typeParts(lower)
	if near := nextWidth(kind, number, order); near != "" {
		return near
	}
	var like []string
	for _, name := range append(format.TypeNames(), "bytes"+number, "ucs"+number, "char"+number) {
		k, n, o := typeParts(name)
		if k == kind && number != "" || len(kind) == 1 {
			return "" // the kind is spelled right, and has no such width
		}
		if n == number && o == order {
			like = append(like, name)
		}
	}
	all := allNearest(lower, like)
	if i := slices.IndexFunc(all, func(near string) bool { return sortedBytes(near) == sortedBytes(lower) }); i >= 0 {
		all = all[i : i+1] // the same letters: unit64
	}
	hint := ""
	for _, near := range all {
		switch t, known := format.NamedType(near); {
		case !known || hint == t.String():
		case hint != "":
			return "" // two types are as near
		default:
			hint = t.String()
		}
	}
	return hint
}

// nextWidth returns the type of that kind and byte order that is one bit wider or narrower than number, or "": 31 bits
// can only be a misspelled 32, while 12 bits could be 8 or 16.
func nextWidth(kind, number, order string) string {
	bits, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	for _, width := range []int{bits + 1, bits - 1} {
		name := kind + strconv.Itoa(width) + order
		if t, known := format.NamedType(name); known && slices.Contains(format.TypeNames(), name) {
			return t.String()
		}
	}
	return ""
}

func sortedBytes(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

var typeForm = regexp.MustCompile(`^([^0-9]*)([0-9]*)(.*)$`)

// typeParts are the kind, the width and the byte order in the name of a type; "": little-endian.
func typeParts(name string) (kind, number, order string) {
	parts := typeForm.FindStringSubmatch(name)
	kind, number, order = parts[1], parts[2], parts[3]
	if base, bigEndian := strings.CutSuffix(kind, "be"); bigEndian && number == "" && base != "" {
		kind, order = base, "be"
	}
	return kind, number, strings.TrimPrefix(order, "le")
}

// gnuFlags maps flags of GNU sort that extsort does not have to the way to get the same effect.
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

// unknownFlag says which flag may have been meant, which verbs have the flag, or that a file has the name of the verb.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	given := unknown.GetSpecifiedName()
	name := "--" + given
	if unknown.GetSpecifiedShortnames() != "" {
		name = "-" + given
	}
	others := verbsWith(given)
	hint := flagHint(cmd, given, others)
	if elsewhere := flagElsewhere(cmd, unknown); elsewhere != nil {
		name = flagName(elsewhere)
		hint = cmp.Or(strings.Join(elsewhere.Annotations[reasonNotIn+cmd.Name()], ""), hint)
	}
	if _, err := os.Stat(cmd.Name()); cmd.HasParent() && err == nil {
		hint += fmt.Sprintf(" (the file %s is ./%s)", cmd.Name(), cmd.Name())
	}
	if len(others) > 0 {
		return fmt.Errorf("%s does not apply to %s: %s", name, cmd.CommandPath(), hint)
	}
	return fmt.Errorf("unknown flag %s: %s", name, hint)
}

// flagHint returns what helps somebody who gave a flag that a command does not have. The others are verbs that have it.
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
func flagElsewhere(cmd *cobra.Command, unknown *pflag.NotExistError) *pflag.Flag {
	flags := cmd.Root().Flags()
	if !cmd.HasParent() {
		return nil
	}
	if unknown.GetSpecifiedShortnames() != "" {
		return flags.ShorthandLookup(unknown.GetSpecifiedName())
	}
	return flags.Lookup(unknown.GetSpecifiedName())
}

// nearestFlag is the flag that name abbreviates, misspells or means elsewhere, or "".
func nearestFlag(flags *pflag.FlagSet, name string) string {
	var known []string
	other := ""
	flags.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[otherNames], name) {
			other = f.Name
		}
		if f.Name != "raw" || strings.HasPrefix("raw", name) { // it turns the guards off: nobody is led to it by chance
			known = append(known, f.Name)
		}
	})
	return cmp.Or(other, nearest(name, known))
}

// nearest is the word that another abbreviates or misspells, or "": the first of allNearest.
func nearest(word string, words []string) string {
	if all := allNearest(word, words); len(all) > 0 {
		return all[0]
	}
	return ""
}

// allNearest are the words that another abbreviates or misspells, all as near: cobra's measure, which it has for
// commands. Of a short word few letters may be wrong.
func allNearest(word string, words []string) []string {
	for i := 1; i < len(word) && len(word) > 2; i++ { // two letters in the wrong order
		swapped := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]
		if slices.Contains(words, swapped) && swapped != word {
			return []string{swapped}
		}
	}
	var known cobra.Command
	for _, w := range words {
		known.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	for distance := range 3 {
		known.SuggestionsMinimumDistance = distance
		if near := known.SuggestionsFor(word); 2*distance < len(word) && len(word) > 1 && len(near) > 0 {
			return near
		}
	}
	return nil
}
