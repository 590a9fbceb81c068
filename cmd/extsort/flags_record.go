package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/computed"
	"github.com/extsort/extsort/internal/option"
)

// The flags that describe a record.

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
			"vectors; from 0); a sort also computes keys: 'hilbert(FIELD,FIELD)', morton, bit_reverse or xxh64; repeat -k "+
			"for more keys, the most significant first").
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

// maxFieldList is the maximum size of a file with a list of fields, in bytes.
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

// isFieldName reports whether a key is the name of a field rather than an offset or a column.
func isFieldName(key string) bool {
	_, _, isCall := format.CutCall(key)
	return strings.IndexAny(key, "0123456789") != 0 && !isCall
}

// validateRecord returns errors in the description of the records that are sorted. Their keys can
// be computed.
func (f *sortFlags) validateRecord() error {
	spec, err := withFieldKeys(f.opt.Record)
	if err != nil {
		return err
	}
	return validateRecord(spec)
}

// withFieldKeys returns a description in which the fields that computed keys need replace these keys.
func withFieldKeys(spec format.Spec) (format.Spec, error) {
	keys, err := computed.Parse(spec.Keys)
	if keys != nil {
		spec.Keys = keys.Fields()
	}
	return spec, err
}

// validateRecord returns errors in a record description. If there is no description at all, the
// error refers to the help.
func validateRecord(spec format.Spec) error {
	err := spec.Validate()
	near := cmp.Or(nearestFunction(spec), nearestType(spec))
	if err != nil && near != "" {
		err = fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	if slices.Contains([]string{"csv", "tsv", "txt", "text", "json"}, strings.ToLower(spec.Format)) &&
		err != nil {
		return fmt.Errorf("-f %s: text has no fixed-size records: use sort for lines, or convert it to "+
			"binary records",
			spec.Format)
	}
	i := slices.IndexFunc(spec.Keys, isFieldName)
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
