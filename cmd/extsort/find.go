package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/lookup"
	"github.com/extsort/extsort/merge/output"
)

// errNotFound means that find found nothing.
var errNotFound = errors.New("not found")

// findFlags contains the flags that only find has.
type findFlags struct {
	keys   string // name of a file
	keysAs string
	from   string
	to     string
	prefix string

	missing  bool
	count    bool
	position bool

	index string
}

// The forms of the keys in a file, in addition to lines.
const (
	keysPacked  = "keys"
	keysRecords = "records"
)

// noIndex is the value of --index that disables indexes.
const noIndex = "none"

func findKeyFlags(g group, v *flagValues) {
	f := &v.text.find
	f.keysAs = string(textform.CSV)
	forms := []string{}
	for _, form := range textform.Forms {
		forms = append(forms, string(form))
	}
	g.add(text(&f.keys, "FILE"), "keys",
		"find all keys in FILE (- is standard input), in any order; the records are written in the order of the sorted "+
			"file; otherwise KEY").
		hints("file", "patterns", "keys-from").notWith("--from", "--to", "--prefix")
	g.add(oneOf(&f.keysAs, "FORM", append(forms, keysPacked, keysRecords)...), "keys-as",
		"form of the keys: lines with the values of the key fields; or binary: the key fields only, or whole records").
		needs("--keys")
	g.add(text(&f.from, "KEY"), "from",
		"find all records from KEY on, in the order of the file; otherwise from the first one").
		hints("start", "begin", "min", "since").notWith("--prefix")
	g.add(text(&f.to, "KEY"), "to",
		"find all records before KEY, without KEY itself; otherwise up to the last one").
		hints("end", "stop", "max", "until", "before").notWith("--prefix")
	g.add(text(&f.prefix, "TEXT"), "prefix",
		"find all records whose first key field begins with TEXT, or with bytes in hexadecimal, such as 0x1f8b; "+
			"only for bytes and characters; "+
			"otherwise KEY").
		hints("starts-with", "beginning")
}

func findResultFlags(g group, v *flagValues) {
	f := &v.text.find
	g.add(
		oneOf(&v.text.form, "FORM", append([]string{keysRecords}, textForms()...)...), "as",
		"form of the result; otherwise the records themselves, in the format of FILE",
	).
		hints("csv", "json", "output-format")
	g.bool(&f.missing, "missing", "write the keys that FILE does not contain, as lines of CSV, instead of records").
		hints("invert-match", "not-found").notWith("--from", "--to", "--prefix", "--as", "--columns", "--header")
	g.bool(&f.count, "count", "write only the number of records found, or of missing keys").
		notWith("--as", "--columns", "--header")
	g.bool(&f.position, "position",
		"write only the positions of the records: A:B for the records A to B-1, counted from 0, as print --range wants; "+
			"with several keys followed by a tab and the key").
		hints("line-number", "byte-offset", "offset").notWith("--missing", "--count", "--as", "--columns", "--header")
}

func findIndexFlag(g group, v *flagValues) {
	g.add(text(&v.text.find.index, "INDEX"), "index",
		"the index that extsort index made, or none; otherwise FILE"+lookup.IndexSuffix+" if it exists").
		offers(noIndex)
}

func findCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("find [flags] [KEY ...] FILE",
		"Find the records with some keys in a sorted file. It reads only a few pages of\n"+
			"the file. A KEY is a value as extsort print writes it; several key fields are\n"+
			"separated by commas, and the last ones can be left out. The exit status is 0 if\n"+
			"a record was found (with --missing: if a key is missing), 1 if not, and 2 after\n"+
			"an error. Write -- before negative numbers.",
		"  extsort find -t u64 12345 sorted.bin\n"+
			"  extsort find -R 16 -k 0:time_s --from 2026-11-01 --to 2026-12-01 log.bin\n"+
			"  extsort find -t bytes20 --keys hashes.txt --missing hibp.bin",
		v, func(cmd *cobra.Command, operands []string) error {
			return findRecords(cmd.Context(), a, v, operands)
		})
}

// openSorted opens a sorted file and its index.
func openSorted(
	ctx context.Context, a *app, v *flagValues, name string, index lookup.IndexFile,
) (*lookup.File, error) {
	if err := a.checkInput([]string{name}); err != nil {
		return nil, err
	}
	v.guessFormat([]string{name})
	spec := v.opt.Record
	undescribed := v.checkUndescribed([]string{name})
	if err := cmp.Or(mistakenForm(spec.Format), undescribed, validateRecord(spec)); err != nil {
		return nil, err
	}
	kind := input.Kind{
		Spec:        spec,
		Recognition: format.Recognition{Raw: v.opt.Raw},
		Frame: input.Frame{
			Skip:    v.opt.SkipBytes,
			Records: v.opt.Records,
			Tail:    v.opt.SkipTail,
		},
	}
	if err := kind.Recognition.Validate(spec); err != nil {
		return nil, err
	}
	return lookup.Open(ctx, lookup.Options{
		Kind:    kind,
		Source:  input.Named(name)[0],
		Stdin:   a.stdin,
		Reverse: v.opt.Reverse,
		Index:   index,
		Warn:    a.warn,
	})
}

// A finder is one run of find.
type finder struct {
	*findFlags
	flags *flagValues
	app   *app
	name  string // of the sorted file
	file  *lookup.File

	wanted *keyList
	result lookupResult
}

// lookupResult is what the look-ups found.
type lookupResult struct {
	ranges  []lookup.Range // in ascending order, without overlaps
	missing []int          // indexes of keys
	lines   []byte         // with --position
}

func findRecords(ctx context.Context, a *app, v *flagValues, operands []string) error {
	if err := v.text.find.checkOperands(operands); err != nil {
		return err
	}
	if v.text.header != "" && v.text.form != tableForm && !v.text.form.HasHeader() {
		return errors.New("--header only works with --as csv, tsv or table")
	}
	if len(v.text.columns) > 0 && slices.Contains([]textform.Form{"", keysRecords, textform.Hex}, v.text.form) {
		return errors.New("--columns only works with --as table, csv, tsv or jsonl")
	}
	f := &finder{
		findFlags: &v.text.find,
		flags:     v,
		app:       a,
		name:      operands[len(operands)-1],
	}
	file, err := openSorted(ctx, a, v, f.name, f.indexOf(f.name))
	if err != nil {
		return err
	}
	f.file = file
	defer file.Close() // closing a file that was only read cannot lose data
	if err := f.lookUp(ctx, operands[:len(operands)-1]); err != nil {
		return err
	}
	if err := f.write(ctx); err != nil {
		return err
	}
	if f.isEmpty() {
		return errNotFound
	}
	return nil
}

// checkOperands returns an error unless the operands are keys and a file, or only a file if a flag
// says what to find.
func (f *findFlags) checkOperands(operands []string) error {
	byFlag := f.keys+f.from+f.to+f.prefix != ""
	switch {
	case len(operands) == 0:
		return errors.New("find: name a KEY and the sorted FILE")
	case !byFlag && len(operands) == 1:
		return fmt.Errorf("find: %s may be the sorted FILE, but no KEY is given: use KEY FILE, --keys, --from, --to or "+
			"--prefix", operands[0])
	case byFlag && len(operands) > 1:
		return fmt.Errorf("find: with --keys, --from, --to or --prefix, the only operand is the FILE: %s is one too many",
			operands[0])
	case f.keys == "-" && isStandard(operands[len(operands)-1], 0):
		return errors.New("find: standard input (-) can be read only once")
	}
	return nil
}

// indexOf returns the index to use with a file.
func (f *findFlags) indexOf(file string) lookup.IndexFile {
	switch {
	case f.index == noIndex:
		return lookup.IndexFile{}
	case f.index != "":
		return lookup.IndexFile{Name: f.index}
	case isStandard(file, 0) || strings.Contains(file, "://"):
		return lookup.IndexFile{}
	}
	return lookup.IndexFile{Name: file + lookup.IndexSuffix, IfPresent: true}
}

// lookUp sets the result.
func (f *finder) lookUp(ctx context.Context, operands []string) error {
	var err error
	var from, to []byte
	switch keys := f.file.Keys; {
	case f.keys != "":
		if f.wanted, err = f.readKeys(ctx); err != nil {
			return err
		}
		return f.lookUpAll(ctx)
	case f.prefix != "":
		if from, err = keys.ParsePrefix(f.prefix); err != nil {
			return fmt.Errorf("--prefix: %w", err)
		}
		found, err := f.file.Find(from)
		f.addRange(found)
		return err
	case len(operands) > 0:
		if f.wanted, err = parseKeys(keys, operands); err != nil {
			return err
		}
		return f.lookUpAll(ctx)
	}

	if f.from != "" {
		if from, err = f.file.Keys.Parse(f.from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
	}
	if f.to != "" {
		if to, err = f.file.Keys.Parse(f.to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	if from != nil && to != nil && string(from) > string(to) {
		return fmt.Errorf("--from %s comes after --to %s in the order of the file: exchange them",
			f.from, f.to)
	}
	found, err := f.file.Between(from, to)
	f.addRange(found)
	return err
}

// addRange adds a range that does not begin before the previous one.
func (f *finder) addRange(r lookup.Range) {
	result := &f.result
	if f.position && r.Len() > 0 {
		result.lines = fmt.Appendf(result.lines, "%d:%d\n", r.First, r.End)
	}
	switch last := len(result.ranges) - 1; {
	case r.Len() == 0:
	case last >= 0 && r.First <= result.ranges[last].End:
		result.ranges[last].End = max(result.ranges[last].End, r.End)
	default:
		result.ranges = append(result.ranges, r)
	}
}

// lookUpAll looks up all wanted keys.
func (f *finder) lookUpAll(ctx context.Context) error {
	const manyKeys = 1000
	cursor := f.file.NewCursor(f.wanted.len() > manyKeys)
	severalKeys := f.wanted.len() > 1 || f.keys != ""
	for i := range f.wanted.len() {
		const perCheck = 1024 // look-ups per check of the context
		if i%perCheck == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		found, err := cursor.Find(f.wanted.key(i))
		if err != nil {
			return err
		}
		if found.Len() == 0 && f.missing {
			f.result.missing = append(f.result.missing, i)
		}
		f.addRange(found)
		if lines := f.result.lines; severalKeys && f.position && found.Len() > 0 {
			lines[len(lines)-1] = '\t'
			f.result.lines = f.wanted.appendLine(lines, i)
		}
	}
	return nil
}

// isEmpty reports whether the result is empty.
func (f *finder) isEmpty() bool {
	if f.missing {
		return len(f.result.missing) == 0
	}
	return len(f.result.ranges) == 0
}

// records returns the number of records in the result.
func (r *lookupResult) records() (records int64) {
	for _, r := range r.ranges {
		records += r.Len()
	}
	return records
}

// write writes the result.
func (f *finder) write(ctx context.Context) error {
	switch {
	case f.missing && f.count:
		return f.writeText(ctx, fmt.Appendln(nil, len(f.result.missing)))
	case f.missing:
		var lines []byte
		for _, i := range f.result.missing {
			lines = f.wanted.appendLine(lines, i)
		}
		return f.writeText(ctx, lines)
	case f.count:
		return f.writeText(ctx, fmt.Appendln(nil, f.result.records()))
	case f.position:
		return f.writeText(ctx, f.result.lines)
	case f.flags.text.form == "" || f.flags.text.form == keysRecords:
		return f.writeRecords(ctx)
	}
	return f.writeLines(ctx)
}

// inputs returns the names of the files that the output must not overwrite.
func (f *finder) inputs() []string {
	names := []string{f.name}
	if f.keys != "" {
		names = append(names, f.keys)
	}
	return names
}

// writeText writes a text to the output.
func (f *finder) writeText(ctx context.Context, text []byte) error {
	sink, err := openTextSink(ctx, f.app, f.flags, nil, f.inputs())
	if err != nil {
		return err
	}
	if len(text) > 0 {
		err = sink.WriteBlock(ctx, 0, text)
	}
	return f.finish(ctx, sink, int64(len(text)), err)
}

// finish completes or aborts the output.
func (f *finder) finish(ctx context.Context, sink *output.Sink, written int64, err error) error {
	if err == nil {
		err = f.file.Check(f.app.warn)
	}
	if err != nil {
		return errors.Join(err, sink.Abort())
	}
	return sink.Commit(ctx, written)
}

// reader returns a reader of the records of the result.
func (f *finder) reader() recordReader {
	size := int64(f.file.Header.Layout().RecordSize)
	rest := f.result.ranges
	at := int64(0) // the next record, counted from the beginning of the first range
	return func(buf []byte) ([]byte, error) {
		filled := int64(0)
		for len(rest) > 0 && filled+size <= int64(len(buf)) {
			n := min(rest[0].Len()-at, (int64(len(buf))-filled)/size)
			recs := buf[filled:][:n*size]
			if err := f.file.Read(recs, rest[0].First+at); err != nil {
				return nil, err
			}
			filled += n * size
			if at += n; at == rest[0].Len() {
				rest = rest[1:]
				at = 0
			}
		}
		return buf[:filled], nil
	}
}

// writeRecords writes the records in the format of the file.
func (f *finder) writeRecords(ctx context.Context) error {
	if err := f.app.checkOutput(f.flags.opt.Output, f.name); err != nil {
		return err
	}
	sink, err := openRecordSink(ctx, f.app, f.flags, written{f.file.Header, f.result.records()}, f.inputs())
	if err != nil {
		return err
	}
	size := f.file.Header.Layout().RecordSize
	buffer := make([]byte, max(printBlockBytes/size, 1)*size)
	read := f.reader()
	written := int64(0)
	for err == nil && ctx.Err() == nil {
		var recs []byte
		recs, err = read(buffer)
		if err != nil || len(recs) == 0 {
			break
		}
		err = sink.WriteBlock(ctx, written, recs)
		written += int64(len(recs) / size)
	}
	return f.finish(ctx, sink, written, cmp.Or(err, context.Cause(ctx)))
}

// writeLines writes the records as print does.
func (f *finder) writeLines(ctx context.Context) error {
	columns, err := chosenColumns(f.file.Header.Columns(), f.flags.text.columns)
	if err != nil {
		return err
	}
	sink, err := openTextSink(ctx, f.app, f.flags, nil, f.inputs())
	if err != nil {
		return err
	}
	p := newPrinter(f.app, f.flags, printed{f.file.Header.Layout().RecordSize, columns, f.reader()}, sink)
	err = p.print(ctx, f.flags.opt.Workers)
	return f.finish(ctx, sink, p.written, err)
}
