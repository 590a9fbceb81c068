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

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/extsort/extsort/format"
)

// What is certain is guessed here, and what is not is a question: did you mean?

// npyMagic is what every NumPy array file begins with.
const npyMagic = "\x93NUMPY"

// guess takes inputs that begin as NumPy arrays or archives of them as such, unless flags say what a record is. -k
// names fields then.
func (f *sortFlags) guess(files []string) {
	r := &f.opt.Record
	open := r.Type+r.Format == "" && r.RecordSize == 0 && !f.opt.Raw && f.opt.SkipBytes == 0
	switch {
	case !open || len(files) == 0:
	case beginsWith(files[0], npyMagic):
		r.Format = "npy"
	case beginsWith(files[0], format.NpzMagic):
		r.Format = "npz"
	}
}

// beginsWith tells whether a file begins with these bytes. A pipe is not looked at: that would take them away.
func beginsWith(name, magic string) bool {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	first := make([]byte, len(magic))
	_, err = io.ReadFull(file, first)
	return err == nil && string(first) == magic
}

// otherVerbs are verbs that one may expect, with what does that here.
var otherVerbs = map[string]string{
	"sort": "extsort FILE", "check": "extsort -c", "verify": "extsort -c", "merge": "extsort -m", "uniq": "extsort -u",
	"head": "extsort --limit N", "top": "extsort --limit N", "shuf": "extsort shuffle", "stat": "extsort info",
	"text": "extsort --stats=text", "json": "extsort --stats=json", "quiet": "extsort -c=quiet",
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
	case len(files) == 2 && writes && !missing(first) && missing(last):
		return fmt.Errorf("%s: no such file to read (to write it: -o %s)", last, last)
	case missing(first) && other != "":
		return fmt.Errorf("%s: no such file, and no verb: %s does that", first, other)
	case missing(first) && r.Type+r.Format == "" && r.RecordSize == 0 && len(r.Keys) == 0:
		if near := nearest(first, names(verbs)); near != "" {
			return fmt.Errorf("%s: no such file, and no verb: did you mean extsort %s?", first, near)
		}
	}
	return nil
}

// otherTypeNames are what languages call the types.
var otherTypeNames = map[string]string{"float": "f32", "double": "f64", "byte": "u8", "half": "f16"}

var (
	shortTypeName = strings.NewReplacer("uint", "u", "int", "i", "float", "f")
	longTypeName  = strings.NewReplacer("u", "uint", "i", "int", "f", "float")
)

// typeName is a type as format.ParseType reads it, of one of the names that other programs have: uint64, Double, U64,
// u32le, NumPy's <u8. What is none of these stays as it is.
func typeName(s string) string {
	if len(s) > 2 && strings.Contains("<>|=", s[:1]) && strings.Contains("uif", s[1:2]) { // which count bytes
		if bytes, err := strconv.Atoi(s[2:]); err == nil && bytes > 0 && bytes&(bytes-1) == 0 {
			s = s[1:2] + strconv.Itoa(8*bytes) + when(s[0] == '>', "be")
		}
	}
	name := strings.ToLower(s)
	if i := strings.LastIndexAny(name, "0123456789"); i >= 0 && name[i+1:] == "le" {
		name = name[:i+1]
	}
	base, bigEndian := strings.CutSuffix(name, "be")
	name = shortTypeName.Replace(cmp.Or(otherTypeNames[base], base)) + when(bigEndian, "be")
	if _, err := format.ParseType(name); err != nil {
		return s
	}
	return name
}

// parseTypeName reads the value of -t. GNU sort's -t has a separator.
func parseTypeName(s string) (string, error) {
	if len(s) == 1 && strings.ContainsAny(s, ",;:| \t") || strings.HasPrefix(s, `\`) {
		return "", fmt.Errorf("%q: fields have no separator here: -t is the TYPE of bare keys, and a field of a record "+
			"is -R BYTES -k OFFSET:TYPE", s)
	}
	text, err := notEmpty(s)
	return typeName(text), err
}

// keyName is a key whose type has one of the other names. Names of NumPy's fields stay as they are.
func keyName(s string) string {
	parts := strings.SplitN(s, ":", 3)
	if len(parts) > 1 && parts[0] != "" && strings.Trim(parts[0], "0123456789") == "" {
		parts[1] = typeName(parts[1])
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
		if _, err := format.ParseType(word); err != nil {
			if near := nearest(strings.ToLower(word), typeNames(bitsIn(word))); near != "" {
				return typeName(near)
			}
		}
	}
	return ""
}

// typeNames are names of the types whose bits are nearest to so many, and what others call them: who follows a hint to
// a narrower type tears numbers apart. A word without a number can only be a name that has none.
func typeNames(bits int) []string {
	if bits == 0 {
		return []string{"float", "double", "half", "byte"}
	}
	off := func(name string) int { return max(bitsIn(name)-bits, bits-bitsIn(name)) }
	nearest := slices.MinFunc(format.NumberTypes, func(a, b string) int { return cmp.Compare(off(a), off(b)) })
	var all []string
	for _, name := range format.NumberTypes {
		if bitsIn(name) == bitsIn(nearest) {
			all = append(all, name, name+"be", longTypeName.Replace(name))
		}
	}
	return all
}

// bitsIn is the number in the name of a type; 0: none.
func bitsIn(name string) int {
	bits, _ := strconv.Atoi(strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz"))
	return bits
}

// otherFlagNames are what other programs call the flags.
var otherFlagNames = map[string]string{
	"memory": "buffer-size", "mem": "buffer-size", "threads": "parallel", "workers": "parallel", "jobs": "parallel",
	"top": "limit", "head": "limit", "tmpdir": "temporary-directory", "tmp": "temporary-directory",
	"temp-dir": "temporary-directory", "descending": "reverse", "desc": "reverse", "gpu": "device",
	"dtype": "type", "records": "count", "rows": "count", "silent": "check-quiet", "resume": "checkpoint",
	"header": "skip-bytes", "compress-program": "spill-compress", "dedup": "unique", "distinct": "unique", "sum": "verify",
}

// gnuFlags are flags of GNU sort, or what one may expect of them, that have no meaning here, with what does.
var gnuFlags = map[string]string{
	"b": "records have no blanks to ignore",
	"g": "numbers are binary here: -t f64, or -k OFFSET:f64",
	"i": "bytes are compared as they are: -k OFFSET:bytesN",
	"j": "threads are --parallel N",
	"M": "there are no names of months: -k OFFSET:TYPE",
	"n": "numbers are binary here: -t TYPE, or -k OFFSET:TYPE (only gen, plan and tune have -n COUNT)",
	"v": "-V is the version, --stats tells what was done",
	"z": "records end by their size, not by a byte: -R BYTES",

	"dry-run":         "extsort plan does that",
	"input":           "a FILE to read has no flag before it",
	"field-separator": "fields have no separator here: -R BYTES -k OFFSET:TYPE",
	"random-sort":     "extsort shuffle puts records into a random order",
	"sort":            "records are sorted by their TYPE, -t or -k; extsort shuffle is the random order",
	"version-sort":    "there are no names of versions: -k OFFSET:TYPE",
}

// gnuNames are the long names of those that have a letter, or of others that mean as much.
var gnuNames = map[string]string{
	"ignore-leading-blanks": "b", "general-numeric-sort": "g", "dictionary-order": "i", "ignore-case": "i",
	"ignore-nonprinting": "i", "in": "input", "month-sort": "M", "numeric-sort": "n", "human-numeric-sort": "n",
	"zero-terminated": "z",
}

// unknownFlag tells which flag may have been meant, or that a file has the name of the verb.
func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	given := unknown.GetSpecifiedName()
	name, hint := "--"+given, cmd.CommandPath()+" --help lists the flags"
	if unknown.GetSpecifiedShortnames() != "" {
		name = "-" + given
	}
	if gnu := gnuFlags[cmp.Or(gnuNames[given], given)]; gnu != "" && cmd.Flags().Lookup("key") != nil {
		hint = gnu
	} else if near := nearestFlag(cmd.Flags(), given); near != "" {
		hint = "did you mean --" + near + "?"
	}
	if _, err := os.Stat(cmd.Name()); cmd.HasParent() && err == nil {
		hint += fmt.Sprintf(" (the file %s is ./%s)", cmd.Name(), cmd.Name())
	}
	return fmt.Errorf("unknown flag %s: %s", name, hint)
}

// nearestFlag is the flag that name abbreviates, misspells or means elsewhere, or "".
func nearestFlag(flags *pflag.FlagSet, name string) string {
	if other := otherFlagNames[name]; flags.Lookup(other) != nil {
		return other
	}
	var known []string
	flags.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return nearest(name, known)
}

// nearest is the word that another abbreviates or misspells, or "": cobra's measure, which it has for commands. Of a
// short word few letters may be wrong.
func nearest(word string, words []string) string {
	var known cobra.Command
	for _, w := range words {
		known.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	for distance := range 3 {
		known.SuggestionsMinimumDistance = distance
		if near := known.SuggestionsFor(word); 2*distance < len(word) && len(word) > 1 && len(near) > 0 {
			return near[0]
		}
	}
	return ""
}
