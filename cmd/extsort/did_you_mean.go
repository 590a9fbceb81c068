package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/columnhelper"
)

// The functions in this file correct mistakes if the meaning is certain. Otherwise the error asks
// "did you mean …?".

// guessFormat sets the format if no flag describes the records and the inputs begin like NumPy
// arrays or archives. With such a format, -k refers to fields by name.
func (f *sortFlags) guessFormat(files []string) {
	r := &f.opt.Record
	open := r.Type+r.Format+r.Fields == "" && r.RecordSize == 0 && !f.opt.Raw &&
		f.opt.SkipBytes == 0
	if !open || len(files) == 0 {
		return
	}
	if c, ok := format.ByMagic(beginning(files[0])); ok {
		r.Format = c.Name
	}
}

// checkUndescribed returns an error if no flag describes the records, and the first input, which
// may describe them, cannot be opened.
func (f *sortFlags) checkUndescribed(files []string) error {
	r := &f.opt.Record
	if r.Type+r.Format+r.Fields != "" || r.RecordSize != 0 || len(files) == 0 {
		return nil
	}
	name := files[0]
	if isStandard(name, 0) || strings.Contains(name, "://") {
		return nil
	}
	info, err := os.Stat(name)
	if kind := columnhelper.KindOf(name); err == nil && kind != "" {
		return fmt.Errorf("%s: is %s, which works only with a sort, -c, plan, info, print, find, union, intersect, "+
			"subtract and join", name, kind)
	}
	if err == nil && info.IsDir() {
		return fmt.Errorf("%s: is a directory", name)
	}
	if err == nil && info.Mode().IsRegular() {
		var file *os.File
		if file, err = os.Open(name); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
	}
	return nil
}

// beginning returns the first bytes of a file. It skips pipes, because reading would consume the
// bytes.
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
	n, _ := io.ReadFull(file, first) // any error will recur when the file is opened again
	return first[:n]
}

// otherVerbs maps verbs of other tools to equivalent commands.
var otherVerbs = map[string]string{
	"sort": "extsort FILE", "check": "extsort -c", "verify": "extsort -c", "merge": "extsort -m",
	"uniq": "extsort -u",
	"dump": "extsort print", "export": "extsort print", "show": "extsort print", "view": "extsort print",
	"grep": "extsort find", "search": "extsort find", "lookup": "extsort find",
	"tail": "extsort print --tail N", "import": "extsort parse", "convert": "extsort parse",
	"head": "extsort --limit N", "top": "extsort --limit N", "shuf": "extsort shuffle", "stat": "extsort info",
	"text": "extsort --stats=text", "json": "extsort --stats=json", "quiet": "extsort -c=quiet",
}

// missingVerbs maps verbs that extsort lacks to alternatives.
var missingVerbs = map[string]string{
	"cat": "extsort has no cat: extsort -m merges sorted files, and cat appends plain records",
}

// mistakenVerb returns an error if the first operand is not a file but looks like a verb. It
// recognizes verbs of other tools and, if no flag describes a record, misspelled verbs of extsort.
func (f *sortFlags) mistakenVerb(files []string) error {
	if len(files) == 0 {
		return nil
	}
	missing := func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, os.ErrNotExist)
	}
	first, last, r := files[0], files[len(files)-1], f.opt.Record
	writes := f.opt.Output == "" && !f.mode.isCheck() && last != "-" &&
		!strings.Contains(last, "://")
	switch other := otherVerbs[first]; {
	case missing(first) && missingVerbs[first] != "":
		return errors.New(missingVerbs[first])
	case len(files) == 2 && writes && !missing(first) && missing(last):
		return fmt.Errorf(
			"%s: no such file to read (to write it: -o %s)", last, last,
		)
	case missing(first) && other != "":
		return fmt.Errorf("%s: no such file or command: use %s", first, other)
	case missing(first) && r.Type+r.Format+r.Fields == "" &&
		r.RecordSize == 0 &&
		len(r.Keys) == 0:
		if near := nearestWord(first, namesOfVerbs()); near != "" {
			return fmt.Errorf(
				"%s: no such file or command: did you mean extsort %s?",
				first,
				near,
			)
		}
	}
	return nil
}

// typeName converts type names of other programs to names that format.ParseType accepts, for
// example uint64, Double, U64, u32le and NumPy's <u8. It returns other names unchanged.
func typeName(s string) string {
	if _, err := format.ParseType(s); err == nil {
		return s
	}
	if t, ok := format.NamedType(s); ok {
		return t.String()
	}
	return s
}

// parseTypeName parses the value of -t. For a separator, which -t sets in GNU sort, it returns an
// error with a hint.
func parseTypeName(s string) (string, error) {
	if len(s) == 1 && strings.ContainsAny(s, ",;:| \t") ||
		strings.HasPrefix(s, `\`) {
		return "", fmt.Errorf("%q: fields have no separator here: -t TYPE means plain numbers; use -R BYTES "+
			"-k OFFSET:TYPE for a field", s)
	}
	text, err := notEmpty(s)
	return typeName(text), err
}

// colonCount matches a type such as packed:5 in a key, whose colon would separate it from a
// direction.
var colonCount = lazyRegexp(
	`^([0-9]+:(?:zoned|packed|ebcdic)):([0-9]+)`,
)

// keyName converts the type in a key like typeName. It leaves names of NumPy fields unchanged.
func keyName(s string) string {
	s = colonCount().ReplaceAllString(s, "$1$2")
	parts := strings.SplitN(s, ":", 3)
	if len(parts) > 1 && parts[0] != "" &&
		strings.Trim(parts[0], "0123456789") == "" {
		parts[1] = typeName(parts[1])
		if len(parts) == 3 &&
			(strings.EqualFold(parts[2], "desc") ||
				strings.EqualFold(parts[2], "asc")) {
			parts[2] = strings.ToLower(parts[2])
		}
	}
	return strings.Join(parts, ":")
}

// nearestType returns the type most similar to the unknown type in a record description, or "".
func nearestType(spec format.Spec) string {
	words := []string{spec.Type}
	for _, key := range spec.Keys {
		if _, _, isCall := format.CutCall(key); isCall {
			continue
		}
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

// nearestFunction returns the function most similar to an unknown function in a key, or "".
func nearestFunction(spec format.Spec) string {
	for _, key := range spec.Keys {
		name, _, isCall := format.CutCall(key)
		if isCall && !slices.Contains(format.KeyFunctions, name) {
			return nearestWord(name, format.KeyFunctions)
		}
	}
	return ""
}

// ambiguousBytes matches NumPy's name for N bytes, which resembles the name of a signed integer
// of N bits.
var ambiguousBytes = lazyRegexp(`^S([0-9]+)$`)

// countlessTypes maps type names that require a number to examples for the hint.
var countlessTypes = map[string]string{
	"zoned": "zoned7", "packed": "packed4", "decimal": "packed4", "ebcdic": "ebcdic10",
	"bytes": "bytes10", "char": "bytes10", "string": "bytes10", "str": "bytes10", "ch": "bytes10", "ucs": "ucs10",
	"fi": "FI4, which is i32be", "bi": "BI4, which is u32be",
}

// typeHint returns the type that an unknown word probably means, or "". The type has the kind,
// width and byte order of the word, because another kind or width would split numbers or order
// them differently.
func typeHint(word string) string {
	if parts := ambiguousBytes().FindStringSubmatch(word); parts != nil {
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
			return "" // the kind is correct, but this width does not exist
		}
		if n == number && o == order {
			like = append(like, name)
		}
	}
	all := allNearest(lower, like)
	if i := slices.IndexFunc(all, func(near string) bool { return sortedBytes(near) == sortedBytes(lower) }); i >= 0 {
		all = all[i : i+1] // the same letters in another order, for example unit64
	}
	hint := ""
	for _, near := range all {
		switch t, known := format.NamedType(near); {
		case !known || hint == t.String():
		case hint != "":
			return "" // several types are equally similar
		default:
			hint = t.String()
		}
	}
	return hint
}

// nextWidth returns the type with the given kind and byte order whose width differs from number by
// one bit, or "". For example, 31 can only be a misspelled 32, while 12 could mean 8 or 16.
func nextWidth(kind, number, order string) string {
	bits, err := strconv.Atoi(number)
	if err != nil {
		return ""
	}
	for _, width := range []int{bits + 1, bits - 1} {
		name := kind + strconv.Itoa(width) + order
		if t, known := format.NamedType(name); known &&
			slices.Contains(format.TypeNames(), name) {
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

var typeForm = lazyRegexp(`^([^0-9]*)([0-9]*)(.*)$`)

// typeParts returns the kind, the width and the byte order of a type's name; "" means
// little-endian.
func typeParts(name string) (kind, number, order string) {
	parts := typeForm().FindStringSubmatch(name)
	kind, number, order = parts[1], parts[2], parts[3]
	if base, bigEndian := strings.CutSuffix(kind, "be"); bigEndian &&
		number == "" &&
		base != "" {
		kind, order = base, "be"
	}
	return kind, number, strings.TrimPrefix(order, "le")
}

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

// nearestWord returns the first word for which the given one is an abbreviation or a misspelling,
// or "".
func nearestWord(word string, words []string) string {
	if all := allNearest(word, words); len(all) > 0 {
		return all[0]
	}
	return ""
}

// allNearest returns the words for which the given one is an abbreviation or a misspelling, if
// several are equally similar. It measures similarity as cobra does for commands. In a short word,
// only a few letters may differ.
func allNearest(word string, words []string) []string {
	for i := 1; i < len(word) && len(word) > 2; i++ { // two letters swapped
		swapped := word[:i-1] + word[i:i+1] + word[i-1:i] + word[i+1:]
		if slices.Contains(words, swapped) && swapped != word {
			return []string{swapped}
		}
	}
	var known cobra.Command
	for _, w := range words {
		known.AddCommand(&cobra.Command{
			Use: w,
			Run: func(*cobra.Command, []string) {},
		})
	}
	for distance := range 3 {
		known.SuggestionsMinimumDistance = distance
		if near := known.SuggestionsFor(word); 2*distance < len(word) &&
			len(word) > 1 &&
			len(near) > 0 {
			return near
		}
	}
	return nil
}
