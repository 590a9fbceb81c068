package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/session"
)

// writeObject writes an object, or nothing for nil, as one line of JSON behind a head, with which the JSON of each
// command begins; failed is the error of the run.
func writeObject(w io.Writer, v any, failed error) error {
	head := struct {
		Schema int    `json:"schema"`          // of its form: it changes when a name goes or changes its meaning
		Error  string `json:"error,omitempty"` // why the run failed, as after "extsort: "; what follows may be incomplete
	}{Schema: 1}
	if failed != nil {
		head.Error = errorLine(failed)
	}
	line, err := json.Marshal(head)
	if err == nil && v != nil {
		var rest []byte
		rest, err = json.Marshal(v)
		line = append(append(line[:len(line)-1], ','), string(rest[1:])...)
	}
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	return err
}

// json tells whether the report is JSON, and into which file it goes; "": with the other reports.
func (f *reportFlags) json() (file string, ok bool) {
	form, file, _ := strings.Cut(f.stats, ":")
	return file, form == "json"
}

// open opens the file of --stats=json:FILE, if there is one.
func (f *reportFlags) open(ctx context.Context, taken []place) (err error) {
	if file, _ := f.json(); file != "" {
		f.side, err = openSide(ctx, "--stats=json", file, taken...)
	}
	return err
}

// writeJSON writes the report of a finished run if it is to be JSON. On standard error it is the last line, even after
// an error.
func (f *reportFlags) writeJSON(ctx context.Context, a *app, failed error) error {
	file, ok := f.json()
	defer f.side.drop()
	if !ok || ctx.Err() != nil { // a signal came, of which the process dies
		return failed
	}
	shown := failed
	if errors.Is(failed, errDisorder) {
		shown = nil // a verdict, which the report has
	}
	if file != "" {
		if f.side == nil { // the run failed before the file was opened
			return failed
		}
		write := func(w io.Writer) error { return writeObject(w, f.result, shown) }
		return errors.Join(failed, f.side.write(ctx, write))
	}
	a.afterError = func() error { return writeObject(a.stderr, f.result, shown) }
	return failed
}

// A row is one line of a report: what it is about and what there is to say.
type row struct{ label, text string }

// writeRows writes rows with the texts aligned, and wrapped where w is a terminal; rows without a text are left out.
func writeRows(w io.Writer, rows []row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.text == "" })
	labels, width := 0, cmp.Or(terminalColumns(w), math.MaxInt32)
	for _, r := range rows {
		labels = max(labels, utf8.RuneCountInString(r.label))
	}
	for _, r := range rows {
		for i, line := range wrap(printable(r.text), width-labels-2) {
			fmt.Fprintf(w, "%-*s  %s\n", labels, when(i == 0, "%s", r.label), line)
		}
	}
}

// wrap splits a text between words into lines of at most so many characters. A word that is longer stays whole.
func wrap(text string, width int) (lines []string) {
	for utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		at := strings.LastIndex(string(runes[:max(width, 0)+1]), " ")
		if at <= 0 {
			at = strings.Index(text, " ")
		}
		if at <= 0 {
			break
		}
		lines = append(lines, text[:at])
		text = strings.TrimLeft(text[at:], " ")
	}
	return append(lines, text)
}

// writeColumns writes lines of cells in columns, all to the left.
func writeColumns(w io.Writer, lines [][]string) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tab, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	tab.Flush()
}

// writeTable writes lines of cells in columns: the first to the left, the others to the right.
func writeTable(w io.Writer, lines [][]string) {
	first := 0
	for _, cells := range lines {
		first = max(first, utf8.RuneCountInString(cells[0]))
	}
	tab := tabwriter.NewWriter(w, 0, 0, 0, ' ', tabwriter.AlignRight)
	for _, cells := range lines {
		fmt.Fprintf(tab, "%-*s\t  %s\t\n", first, cells[0], strings.Join(cells[1:], "\t  "))
	}
	tab.Flush()
}

func writeStats(w io.Writer, r *session.Report) {
	d := &r.Detail
	rows := []row{
		{"records", humanize.Comma(r.Records) +
			when(r.RecordsOut != r.Records, " read, %s written", humanize.Comma(r.RecordsOut))},
		{"read", human.Bytes(r.BytesRead) + when(d.BytesKept > 0, ", of which %s are from the checkpoint",
			human.Bytes(d.BytesKept))},
		{"written", human.Bytes(r.BytesWritten)},
		{"temporary", human.Bytes(r.BytesSpilled) +
			when(d.SpillCodec != "" && d.SpillCodec != "none", ", compressed with %s", d.SpillCodec)},
		{"memory", memory(d)},
		{"device", r.Device},
		{"algorithm", d.Algorithm},
		{"strategy", string(r.Strategy) +
			when(d.Chunks > 0, ", %s", plural(d.Chunks, "chunk")) + // a merge of sorted files has none
			when(d.FanIn > 0, ", fan-in %d", d.FanIn) + when(d.MergeLevels > 1, ", %d levels", d.MergeLevels)},
		{"checksum", r.ChecksumOut + when(r.Verified, ", verified")},
		{"fallback", r.FallbackReason},
		{"bottleneck", bottleneck(r)},
		{"time", human.Time(r.Seconds) + ", " + human.Rate(r.BytesRead, r.Seconds)},
	}
	for _, p := range d.Phases {
		if p.Seconds > 0 {
			rows = append(rows, row{"  " + p.Name, human.Time(p.Seconds) + ", " + human.Bytes(p.Bytes) +
				when(p.Bytes > 0, ", %s", human.Rate(p.Bytes, p.Seconds))})
		}
	}
	for _, c := range d.Changes {
		rows = append(rows, row{"changed", c.String()})
	}
	writeRows(w, rows)
}

// bottleneck returns what the longest stage did, and its share of the time.
func bottleneck(r *session.Report) string {
	for _, p := range r.Detail.Phases {
		if p.Name == r.Detail.Limiting && r.Seconds > 0 {
			return fmt.Sprintf("%s (%.0f %% of the time)", plan.Doing(p.Name), 100*min(p.Seconds/r.Seconds, 1))
		}
	}
	return ""
}

func memory(d *session.Detail) string {
	return when(d.PeakMemory > 0, "peak %s, ", human.Bytes(d.PeakMemory)) + "limit " + human.Bytes(d.MemoryLimit)
}

// writeExplain sets each stage that was predicted beside the one that ran.
func writeExplain(w io.Writer, r *session.Report) {
	d := &r.Detail
	total := session.Phase{Name: "total", Seconds: r.Seconds, Bytes: r.BytesRead, Predicted: d.Plan.Seconds,
		Corrected: d.Corrected}
	lines := [][]string{{"stage", "predicted", "corrected", "measured", "bytes", "rate"}}
	for _, p := range append(slices.Clip(d.Phases), total) {
		lines = append(lines, []string{
			p.Name, known(p.Predicted), known(p.Corrected), measured(p.Seconds), human.Bytes(p.Bytes),
			human.Rate(p.Bytes, p.Seconds),
		})
	}
	writeTable(w, lines)
	for _, c := range d.Changes {
		fmt.Fprintf(w, "changed: %s\n", c.String())
	}
	if len(d.Plan.Considered) > 0 { // -m: there was nothing to choose
		fmt.Fprintln(w)
		writeRows(w, []row{{"direct I/O", planDirect(d.Plan)}, {"rates", planRates(d.Plan.Rates)}})
		writeConsidered(w, d.Plan)
	}
}

// known is a predicted time, or a dash where there is none.
func known(s float64) string {
	if s == 0 {
		return "-"
	}
	return human.Estimate(s)
}

// measured is a measured time, or a dash where there is none.
func measured(s float64) string {
	if s == 0 {
		return "-"
	}
	return human.Time(s)
}

// The helpers below put figures into words.

func plural[T ~int | ~int64](n T, noun string) string {
	return humanize.Comma(int64(n)) + " " + english.PluralWord(int(n), noun, "")
}

// when is a text where something holds, and else nothing.
func when(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
