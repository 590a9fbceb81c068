package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort"
)

// writeJSON writes v as one JSON object on one line.
func writeJSON(w io.Writer, v any) error {
	return json.NewEncoder(w).Encode(v)
}

// A row is one line of a report: what it is about and what there is to say.
type row struct{ label, text string }

// writeRows writes rows with the texts aligned; rows without a text are left out.
func writeRows(w io.Writer, rows []row) error {
	tab := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		if r.text != "" {
			fmt.Fprintf(tab, "%s\t%s\n", r.label, r.text)
		}
	}
	return tab.Flush()
}

// writeTable writes lines of cells in columns: the first to the left, the others to the right.
func writeTable(w io.Writer, lines [][]string) error {
	first := 0
	for _, cells := range lines {
		first = max(first, utf8.RuneCountInString(cells[0]))
	}
	tab := tabwriter.NewWriter(w, 0, 0, 0, ' ', tabwriter.AlignRight)
	for _, cells := range lines {
		fmt.Fprintf(tab, "%-*s\t  %s\t\n", first, cells[0], strings.Join(cells[1:], "\t  "))
	}
	return tab.Flush()
}

// writeStats tells what a sort or merge did.
func writeStats(w io.Writer, r *extsort.Report) error {
	rows := []row{
		{"records", records(r)},
		{"read", volume(r.BytesRead, 0)},
		{"written", volume(r.BytesWritten, 0)},
		{"spilled", spilled(r)},
		{"memory", memory(r)},
		{"device", r.Device},
		{"algorithm", r.Algorithm},
		{"strategy", strategy(r)},
		{"checksum", checksum(r)},
		{"fallback", r.FallbackReason},
		{"limited by", r.Limiting},
		{"time", fmt.Sprintf("%s, %s", seconds(r.Seconds), rate(r.BytesRead, r.Seconds))},
	}
	for _, p := range r.Phases {
		if p.Seconds > 0 {
			rows = append(rows, row{"  " + p.Name, fmt.Sprintf("%s, %s", seconds(p.Seconds), volume(p.Bytes, p.Seconds))})
		}
	}
	for _, c := range r.Changes {
		rows = append(rows, row{"changed", c.String()})
	}
	return writeRows(w, rows)
}

func records(r *extsort.Report) string {
	if r.RecordsOut != r.Records {
		return fmt.Sprintf("%s read, %s written", commas(r.Records), commas(r.RecordsOut))
	}
	return commas(r.Records)
}

func spilled(r *extsort.Report) string {
	s := volume(r.BytesSpilled, 0)
	if r.SpillCodec != "" && r.SpillCodec != "none" {
		s += ", compressed by " + r.SpillCodec
	}
	return s
}

func memory(r *extsort.Report) string {
	if r.PeakMemory == 0 {
		return humanBytes(r.MemoryLimit) + " allowed"
	}
	return fmt.Sprintf("%s at the peak, %s allowed", humanBytes(r.PeakMemory), humanBytes(r.MemoryLimit))
}

func strategy(r *extsort.Report) string {
	s := string(r.Strategy)
	if r.Chunks > 0 { // a merge of sorted files has none
		s += ", " + plural(int64(r.Chunks), "chunk")
	}
	if r.FanIn > 0 {
		s += fmt.Sprintf(", fan-in %d", r.FanIn)
	}
	if r.MergeLevels > 1 {
		s += fmt.Sprintf(", %d levels", r.MergeLevels)
	}
	return s
}

func checksum(r *extsort.Report) string {
	if r.Verified {
		return r.ChecksumOut + ", verified"
	}
	return r.ChecksumOut
}

// writeExplain sets each stage that was predicted beside the one that ran.
func writeExplain(w io.Writer, r *extsort.Report) error {
	total := extsort.Phase{Name: "total", Seconds: r.Seconds, Bytes: r.BytesRead}
	if r.Plan != nil {
		total.Predicted = r.Plan.Seconds
	}
	lines := [][]string{{"stage", "predicted", "measured", "bytes", "rate"}}
	for _, p := range append(slices.Clip(r.Phases), total) {
		lines = append(lines, []string{
			p.Name, known(p.Predicted), known(p.Seconds), humanBytes(p.Bytes), rate(p.Bytes, p.Seconds),
		})
	}
	if err := writeTable(w, lines); err != nil {
		return err
	}
	for _, c := range r.Changes {
		fmt.Fprintf(w, "changed: %v\n", c)
	}
	if r.Plan == nil || len(r.Plan.Considered) == 0 {
		return nil // -m: there was nothing to choose
	}
	if _, err := fmt.Fprintf(w, "\nrates %s\n", planRates(r.Plan.Rates)); err != nil {
		return err
	}
	return writeConsidered(w, r.Plan)
}

// known is a time, or a dash where there is none.
func known(s float64) string {
	if s == 0 {
		return "-"
	}
	return seconds(s)
}

// The helpers below put figures into words.

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func rate(n int64, s float64) string {
	if s <= 0 || n <= 0 {
		return "-"
	}
	return humanBytes(int64(float64(n)/s)) + "/s"
}

func volume(n int64, s float64) string {
	if s <= 0 || n <= 0 {
		return humanBytes(n)
	}
	return humanBytes(n) + ", " + rate(n, s)
}

func seconds(s float64) string {
	switch {
	case s < 0.001:
		return fmt.Sprintf("%.0f µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.0f ms", s*1e3)
	case s < 100:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return commas(n) + " " + noun + "s"
}

func commas(n int64) string { return humanize.Comma(n) }
