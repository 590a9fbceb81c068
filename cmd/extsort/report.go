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

// writeObject writes v as one line of JSON, after the head fields that all commands share. If v is
// nil, it writes only the head. failed is the error of the run.
func writeObject(w io.Writer, v any, failed error) error {
	head := struct {
		// Schema is the version of the format. It changes when a name is removed or changes its
		// meaning.
		Schema int `json:"schema"`
		// Error is the message of a failed run, without the prefix "extsort: ". If it is set, the
		// other fields may be incomplete.
		Error string `json:"error,omitempty"`
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

// json reports whether the report is JSON. file is its file. If file is "", the report goes to the
// same stream as other reports.
func (f *reportFlags) json() (file string, ok bool) {
	form, file, _ := strings.Cut(f.stats, ":")
	return file, form == "json"
}

// open opens the file of --stats=json:FILE, if there is one.
func (f *reportFlags) open(ctx context.Context, taken []place) (err error) {
	file, _ := f.json()
	if file != "" {
		f.side, err = openSide(ctx, "--stats=json", file, taken...)
	}
	return err
}

// writeJSON writes the report of a finished run if it is in JSON. On standard error, it is the
// last line, even after an error.
func (f *reportFlags) writeJSON(
	ctx context.Context, a *app, failed error,
) error {
	file, ok := f.json()
	defer f.side.discard()
	if !ok ||
		ctx.Err() != nil { // the process will be killed by the signal that was received
		return failed
	}
	shown := failed
	if errors.Is(failed, errDisorder) || errors.Is(failed, errNotFound) {
		shown = nil // a verdict is already in the report
	}
	if file != "" {
		if f.side == nil { // the run failed before it opened the file
			return failed
		}
		write := func(w io.Writer) error {
			return writeObject(w, f.result, shown)
		}
		return errors.Join(failed, f.side.write(ctx, write))
	}
	a.afterError = func() error {
		return writeObject(a.stderr, f.result, shown)
	}
	return failed
}

// A row is one line of a report: a label and a text.
type row struct{ label, text string }

// writeRows writes rows with aligned texts, which wrap if w is a terminal. It skips rows without
// a text.
func writeRows(w io.Writer, rows []row) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return r.text == ""
	})
	labels := 0
	width := cmp.Or(terminalColumns(w), math.MaxInt32)
	for _, r := range rows {
		labels = max(labels, utf8.RuneCountInString(r.label))
	}
	for _, r := range rows {
		for i, line := range wrapLines(printable(r.text), width-labels-2) {
			fmt.Fprintf(
				w, "%-*s  %s\n", labels, textIf(i == 0, "%s", r.label), line,
			)
		}
	}
}

// wrapLines splits a text between words into lines of at most width characters. A longer word stays
// whole.
func wrapLines(text string, width int) (lines []string) {
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

// writeColumns writes lines of cells in left-aligned columns.
func writeColumns(w io.Writer, lines [][]string) {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tab, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	tab.Flush()
}

// writeTable writes lines of cells in columns. The first column is left-aligned, the others are
// right-aligned.
func writeTable(w io.Writer, lines [][]string) {
	first := 0
	for _, cells := range lines {
		first = max(first, utf8.RuneCountInString(cells[0]))
	}
	tab := tabwriter.NewWriter(w, 0, 0, 0, ' ', tabwriter.AlignRight)
	for _, cells := range lines {
		fmt.Fprintf(
			tab,
			"%-*s\t  %s\t\n",
			first,
			cells[0],
			strings.Join(cells[1:], "\t  "),
		)
	}
	tab.Flush()
}

func writeStats(w io.Writer, r *session.Report) {
	d := &r.Detail
	rows := []row{
		{"records", humanize.Comma(r.Records) +
			textIf(
				r.RecordsOut != r.Records,
				" read, %s written",
				humanize.Comma(r.RecordsOut),
			)},
		{
			"read",
			human.Bytes(r.BytesRead) + textIf(d.BytesKept > 0, ", of which %s are from the checkpoint",
				human.Bytes(d.BytesKept)),
		},
		{"written", human.Bytes(r.BytesWritten)},
		{"temporary", human.Bytes(r.BytesSpilled) +
			textIf(
				d.SpillCodec != "" && d.SpillCodec != "none",
				", compressed with %s",
				d.SpillCodec,
			)},
		{"memory", memoryText(d)},
		{"device", r.Device},
		{"algorithm", d.Algorithm},
		{"strategy", string(r.Strategy) +
			// A merge of sorted files has no chunks.
			textIf(d.Chunks > 0, ", %s", plural(d.Chunks, "chunk")) +
			textIf(
				d.FanIn > 0, ", fan-in %d", d.FanIn,
			) + textIf(d.MergeLevels > 1, ", %d levels", d.MergeLevels)},
		{"checksum", r.ChecksumOut + textIf(r.Verified, ", verified")},
		{"fallback", r.FallbackReason},
		{"bottleneck", bottleneck(r)},
		{"time", human.Time(r.Seconds) + ", " + human.Rate(r.BytesRead, r.Seconds)},
	}
	for _, p := range d.Phases {
		if p.Seconds > 0 {
			rows = append(
				rows,
				row{"  " + p.Name, human.Time(p.Seconds) + ", " + human.Bytes(p.Bytes) +
					textIf(p.Bytes > 0, ", %s", human.Rate(p.Bytes, p.Seconds))},
			)
		}
	}
	for _, c := range d.Changes {
		rows = append(rows, row{"changed", c.String()})
	}
	writeRows(w, rows)
}

// bottleneck names the longest stage and its share of the time.
func bottleneck(r *session.Report) string {
	for _, p := range r.Detail.Phases {
		if p.Name == r.Detail.Limiting && r.Seconds > 0 {
			return fmt.Sprintf(
				"%s (%.0f %% of the time)",
				plan.StageText(p.Name),
				100*min(p.Seconds/r.Seconds, 1),
			)
		}
	}
	return ""
}

func memoryText(d *session.Detail) string {
	return textIf(
		d.PeakMemory > 0, "peak %s, ", human.Bytes(d.PeakMemory),
	) + "limit " + human.Bytes(d.MemoryLimit)
}

// writeExplain compares each predicted stage with the one that ran.
func writeExplain(w io.Writer, r *session.Report) {
	d := &r.Detail
	total := session.Phase{
		Name:      "total",
		Seconds:   r.Seconds,
		Bytes:     r.BytesRead,
		Predicted: d.Plan.Seconds,
		Corrected: d.Corrected,
	}
	lines := [][]string{{"stage", "predicted", "corrected", "measured", "bytes", "rate"}}
	for _, p := range append(slices.Clip(d.Phases), total) {
		lines = append(lines, []string{
			p.Name, predictedTime(
				p.Predicted,
			), predictedTime(p.Corrected), measuredTime(p.Seconds), human.Bytes(p.Bytes),
			human.Rate(p.Bytes, p.Seconds),
		})
	}
	writeTable(w, lines)
	for _, c := range d.Changes {
		fmt.Fprintf(w, "changed: %s\n", c.String())
	}
	if len(d.Plan.Considered) > 0 { // -m considers no strategies
		fmt.Fprintln(w)
		writeRows(
			w,
			[]row{{"direct I/O", planDirect(d.Plan)}, {"rates", planRates(d.Plan.Rates)}},
		)
		writeConsidered(w, d.Plan)
	}
}

// predictedTime formats a predicted time, or returns a dash if the time is unknown.
func predictedTime(s float64) string {
	if s == 0 {
		return "-"
	}
	return human.Estimate(s)
}

// measuredTime formats a measured time, or returns a dash if the time is unknown.
func measuredTime(s float64) string {
	if s == 0 {
		return "-"
	}
	return human.Time(s)
}

// The helpers below format figures.

func plural[T ~int | ~int64](n T, noun string) string {
	return humanize.Comma(int64(n)) + " " + english.PluralWord(int(n), noun, "")
}

// textIf returns a formatted text if holds is true, and "" otherwise.
func textIf(holds bool, format string, args ...any) string {
	if !holds {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// setResult stores the report of a run, even of one that failed, so that it can be written at the
// end.
func (f *reportFlags) setResult(r *session.Report) {
	if r == nil {
		return
	}
	shown := struct {
		*session.Report
		session.Detail
	}{r, r.Detail}
	if !f.explain {
		shown.Plan = nil
	}
	f.result = shown
}

// writeText writes the requested reports about a finished run, except for JSON.
func (f *reportFlags) writeText(a *app, r *session.Report) {
	file, isJSON := f.json()
	if f.explain && (!isJSON || file != "") {
		writeExplain(a.notes, r)
	}
	if f.stats == "text" {
		writeStats(a.notes, r)
	}
}
