package main

import (
	"encoding/json"
	"fmt"
	"io"
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
	var widths []int
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		for i, cell := range cells {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString(cell + pad)
			} else {
				b.WriteString("  " + pad + cell)
			}
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
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
		rows = append(rows, row{"  " + p.Name, fmt.Sprintf("%s, %s", seconds(p.Seconds), volume(p.Bytes, p.Seconds))})
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

// writeExplain sets what the plan predicted beside what was measured.
func writeExplain(w io.Writer, r *extsort.Report) error {
	lines := [][]string{{"stage", "predicted", "measured", "bytes", "rate"}}
	if err := writeTable(w, append(lines, explainLines(r)...)); err != nil || r.Plan == nil {
		return err
	}
	if len(r.Plan.Considered) == 0 {
		return nil // -m: there was nothing to choose
	}
	if _, err := fmt.Fprintf(w, "\nrates %s\n", planRates(r.Plan.Rates)); err != nil {
		return err
	}
	return writeConsidered(w, r.Plan)
}

// explainLines pairs the stages of the plan with the phases that measure them, by name.
func explainLines(r *extsort.Report) [][]string {
	predicted := map[string]float64{}
	total := 0.0
	var lines [][]string
	if r.Plan != nil {
		total = r.Plan.Seconds
		for _, s := range r.Plan.Stages {
			predicted[s.Name] = s.Seconds
		}
	}
	measured := map[string]bool{}
	for _, p := range r.Phases {
		measured[p.Name] = true
		lines = append(lines, []string{p.Name, known(predicted[p.Name]), seconds(p.Seconds), humanBytes(p.Bytes), rate(p.Bytes, p.Seconds)})
	}
	if r.Plan != nil {
		for _, s := range r.Plan.Stages {
			if !measured[s.Name] {
				lines = append(lines, []string{s.Name, known(s.Seconds), "-", humanBytes(s.Bytes), "-"})
			}
		}
	}
	return append(lines, []string{"total", known(total), seconds(r.Seconds), humanBytes(r.BytesRead), rate(r.BytesRead, r.Seconds)})
}

func known(predicted float64) string {
	if predicted == 0 {
		return "-"
	}
	return seconds(predicted)
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
