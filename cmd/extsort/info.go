package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/info"
)

// infoFlags selects how info examines files.
type infoFlags struct {
	all  bool
	json bool
}

func infoLookFlags(g group, v *flagValues) {
	g.bool(
		&v.info.all,
		"all",
		"read all records, not only a sample from the whole file",
	).
		hints("full", "whole")
	g.bool(&v.info.json, "json", "print one line of JSON for each FILE").
		hints("stats")
}

func infoCommand(a *app) *cobra.Command {
	v := &flagValues{}
	return verb("info [flags] FILE ...",
		"Show what files contain: their format, likely record sizes, and the fields\n"+
			"of NumPy arrays. If you describe the records (-t, -R and -k, or -f), info also\n"+
			"shows their order and the distribution of their keys.",
		"  extsort info unknown.bin\n  extsort info -R 16 -k 8:u32 --all log.bin\n  extsort info --json trades.npy",
		v, func(cmd *cobra.Command, files []string) error {
			return describeFiles(cmd.Context(), a, v, files)
		})
}

// describeFiles describes each file that it can read, and then returns the errors of the others.
func describeFiles(
	ctx context.Context, a *app, v *flagValues, files []string,
) error {
	if len(files) == 0 {
		return errors.New("info: name a FILE (- is standard input)")
	}
	opt, err := v.infoOptions()
	if err != nil {
		return err
	}
	var faults []error
	for i, name := range files {
		report, err := info.Inspect(ctx, name, a.stdin, opt)
		if faults = append(faults, err); err != nil {
			continue
		}
		if v.info.json {
			faults = append(faults, writeObject(a.out, report, nil))
			continue
		}
		fmt.Fprint(a.out, textIf(i > 0, "\n"))
		writeInfo(a.out, report)
	}
	return errors.Join(faults...)
}

// infoOptions returns the options that the flags describe. Without a record layout, -k is only
// valid for arrays with named fields.
func (v *flagValues) infoOptions() (info.Options, error) {
	r := v.opt.Record
	opt := info.Options{
		Record: r, SkipBytes: v.opt.SkipBytes, Records: v.opt.Records, SkipTail: v.opt.SkipTail, All: v.info.all,
		WindowBytes: v.windowBytes(),
		Recognition: format.Recognition{
			Raw:        v.opt.Raw,
			Decompress: v.opt.Decompress,
		},
	}
	err := opt.Recognition.Validate(r)
	if r.Type+r.Format+r.Fields != "" || r.RecordSize != 0 {
		err = errors.Join(err, validateRecord(r))
	}
	return opt, err
}

// writeInfo describes a file: its kind, its fields, its keys and some of its records.
func writeInfo(w io.Writer, r *info.Report) {
	fmt.Fprintln(w, printable(r.File))
	writeRows(w, append([]row{
		{"  size", infoSize(r)},
		{"  container", infoContainer(r)},
		{"  records", infoRecords(r)},
		{"  columns", textIf(
			r.Columns > 0, "%d (-k 0 to %d)", r.Columns, r.Columns-1,
		)},
		{"  dtype", textIf(len(r.Fields) <= 1 || r.Columns > 1, "%s", r.DType)},
		{"  layout", r.Layout},
		{"  problem", r.Problem},
	}, scanRows(r.Scan)...))
	writeSizes(w, r)
	writeMembers(w, r.Members)
	writeFields(w, r)
	if r.Scan != nil {
		writeHistogram(w, r.Scan.Histogram)
	}
	next := nextRows(r)
	addDates(r.Shown)
	for _, rec := range r.Shown {
		writeRecord(w, rec)
	}
	if len(next) > 0 {
		fmt.Fprintln(w)
		writeRows(w, next)
	}
}

func infoSize(r *info.Report) string {
	packed := r.Compression != ""
	data := textIf(packed, ", compressed with %s", r.Compression) +
		textIf(
			packed && r.DataBytes >= 0, " from %s", plural(r.DataBytes, "byte"),
		)
	switch {
	case r.Bytes >= 0:
		return plural(r.Bytes, "byte") + textIf(
			r.Bytes >= 1024, " (%s)", human.Bytes(r.Bytes),
		) + data
	case r.DataBytes >= 0 && data == "":
		return plural(r.DataBytes, "byte")
	}
	return "unknown until the input ends" + data
}

func infoContainer(r *info.Report) string {
	header := textIf(
		r.HeaderBytes > 0, ", %s of header", plural(r.HeaderBytes, "byte"),
	)
	switch r.Container {
	case "raw":
		return textIf(
			r.RecordSize == 0, "unknown",
		) + textIf(r.RecordSize > 0, "plain records")
	case "text":
		return "lines of text (use sort)"
	}
	c := format.Spec{Format: r.Container}.Container()
	return cmp.Or(
		textIf(c.Title != "", "%s (-f %s)", c.Title, c.Name), c.Name,
	) + textIf(c.ListsFields, "%s", header)
}

func infoRecords(r *info.Report) string {
	if r.RecordSize == 0 {
		return ""
	}
	count := cmp.Or(
		textIf(r.Records >= 0, "%s", humanize.Comma(r.Records)), "not counted",
	)
	return count + ", " + plural(r.RecordSize, "byte") + " each" +
		textIf(r.LeftOver > 0, "; %s left over", plural(r.LeftOver, "byte"))
}

func scanRows(s *info.Scan) []row {
	if s == nil || s.Records == 0 {
		return nil
	}
	some := textIf(s.Start, "the first ") + plural(s.Records, "record") + textIf(
		!s.Start, " from the whole file",
	)
	looked := cmp.Or(textIf(!s.All, "%s (--all scans all)", some), "all records")
	equal := humanize.Comma(s.EqualNeighbours) + " equal to the previous record" + textIf(!s.Sorted,
		"; in a sample of %s, %s occurred before", plural(s.SampleKeys, "key"), humanize.Comma(s.SampleDuplicates))
	return []row{
		{"  scanned", looked}, {"  order", orderText(s)}, {"  min", s.Min}, {"  max", s.Max}, {"  duplicates", equal},
		{"  NaNs", textIf(s.NaNs > 0, "%s", plural(s.NaNs, "record"))},
	}
}

func orderText(s *info.Scan) string {
	so := textIf(!s.All, " in the scanned records")
	d := s.Disorder
	switch {
	case s.Sorted:
		return "in order" + so
	case s.Reversed:
		return "in reverse order" + so
	}
	return fmt.Sprintf(
		"not in order: record %d (byte %d) is %s after %s",
		d.Record+1,
		d.Byte,
		d.Key,
		d.After,
	) +
		textIf(d.AfterRecord != d.Record-1, " in record %d", d.AfterRecord+1)
}

// writeSizes lists the likely record sizes if the record size is unknown.
func writeSizes(w io.Writer, r *info.Report) {
	if len(r.RecordSizes) == 0 {
		if r.Container == "raw" && r.RecordSize == 0 {
			fmt.Fprintf(w, "\nno likely record size%s\n", divisorSizes(r.DataBytes))
		}
		return
	}
	lines := [][]string{{"likely", "records", "left over", "same bytes", "by chance"}}
	for _, s := range r.RecordSizes {
		records := "-"
		left := "-"
		if s.Records >= 0 {
			records = humanize.Comma(s.Records)
			left = plural(s.LeftOver, "byte")
		}
		lines = append(lines, []string{
			fmt.Sprintf("-R %d", s.RecordSize), records, left, percent(s.Same), percent(s.Chance),
		})
	}
	fmt.Fprintln(w)
	writeTable(w, lines)
	fmt.Fprintln(w, "same bytes: equal to the byte one, two, three … records earlier; "+
		"by chance: equal to any other byte\n"+
		"the true record size may be a multiple of a likely one")
	switch likely := r.RecordSizes[0]; {
	case likely.Header > 0:
		fmt.Fprintf(w, "%s before the records seem to be a header: --skip-bytes %d\n",
			plural(likely.Header, "byte"), likely.Header)
	case likely.LeftOver > 0:
		fmt.Fprintf(w, "left over: a header of %d, %d, %d … bytes (--skip-bytes), bytes after the records "+
			"(--skip-tail), or an incomplete last record\n",
			likely.LeftOver, likely.LeftOver+int64(likely.RecordSize), likely.LeftOver+2*int64(likely.RecordSize))
	}
}

// divisorSizes lists the small record sizes that divide the size of the data.
func divisorSizes(dataBytes int64) string {
	sizes := ""
	for n := int64(2); n <= 64; n++ {
		if dataBytes > 0 && dataBytes%n == 0 {
			sizes += fmt.Sprintf(" %d", n)
		}
	}
	return textIf(sizes != "", "; sizes up to 64 that divide the file:%s", sizes)
}

// percent formats a share. A small share has one decimal.
func percent(part float64) string {
	if part < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*part)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

func writeMembers(w io.Writer, members []info.Member) {
	if len(members) == 0 {
		return
	}
	lines := [][]string{{"array", "size", "shape", "", "dtype"}}
	for _, m := range members {
		shape := strings.Trim(
			strings.ReplaceAll(fmt.Sprint(m.Shape), " ", " x "), "[]",
		)
		lines = append(lines, []string{m.Name, plural(m.Bytes, "byte"), shape, "--member " + m.Name,
			cmp.Or(m.DType, m.Problem)})
	}
	fmt.Fprintln(w)
	writeColumns(w, lines)
}

// writeFields lists the fields of an array that has several.
func writeFields(w io.Writer, r *info.Report) {
	if len(r.Fields) == 0 || len(r.Fields) == 1 && r.Fields[0].Name == "" {
		return
	}
	lines := [][]string{{"field", "at byte", "type", ""}}
	for _, f := range r.Fields {
		cells := []string{f.Name, strconv.Itoa(f.Offset), f.Type, "-k " + f.Name}
		if f.Type == "" {
			cells = []string{f.Name, strconv.Itoa(f.Offset), "-", f.Reason}
		}
		lines = append(lines, cells)
	}
	if r.Columns > len(r.Fields) {
		lines = append(lines, []string{"…"})
	}
	fmt.Fprintln(w)
	writeColumns(w, lines)
}

func writeHistogram(w io.Writer, bins []info.Bin) {
	if len(bins) < 2 {
		return
	}
	most := int64(1)
	for _, b := range bins {
		most = max(most, b.Count)
	}
	lines := [][]string{{"keys from", "to", "sampled", ""}}
	for _, b := range bins {
		lines = append(
			lines,
			[]string{b.From, b.To, humanize.Comma(b.Count), strings.Repeat(
				"#", int(30*b.Count/most),
			)},
		)
	}
	fmt.Fprintln(w)
	writeColumns(w, lines)
}

func writeRecord(w io.Writer, rec info.Record) {
	fmt.Fprintf(
		w,
		"\nrecord %s, at byte %s\n",
		humanize.Comma(rec.Record+1),
		humanize.Comma(rec.Byte),
	)
	lines := [][]string{}
	for _, p := range rec.Parts {
		name := "  " + cmp.Or(p.Field, fmt.Sprintf("byte %d", p.Offset))
		if p.Field+p.Value != "" {
			digits, _ := hexAndText(p, 8)
			lines = append(lines, []string{name, digits, p.Value})
			continue
		}
		const row, rows = 16, 4
		for n := 0; n < min(p.Size, row*rows); n += row {
			line := info.Segment{Size: min(p.Size-n, row), Hex: p.Hex[2*n:]}
			digits, text := hexAndText(line, row)
			if p.Size >= 8 {
				digits = fmt.Sprintf("%-*s  %s", 3*row-1, digits, text)
			}
			lines = append(
				lines, []string{fmt.Sprintf("  byte %d", p.Offset+n), digits},
			)
		}
		if p.Size > row*rows {
			lines = append(lines, []string{"  …"})
		}
	}
	writeColumns(w, lines)
}

// hexAndText returns the first bytes of a part as pairs of hexadecimal digits and as text. A dot
// represents an unprintable byte.
func hexAndText(p info.Segment, most int) (digits, text string) {
	b, _ := hex.DecodeString(p.Hex) // info always produces valid digits
	b = b[:min(len(b), most)]
	digits = fmt.Sprintf("% x", b) + textIf(p.Size > most, " …")
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = '.'
		}
	}
	return digits, string(b)
}
