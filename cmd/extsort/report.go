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
	for _, s := range stagesOf(r) {
		if s.measured > 0 {
			rows = append(rows, row{"  " + s.name, fmt.Sprintf("%s, %s", seconds(s.measured), volume(s.bytes, s.measured))})
		}
	}
	for _, c := range changesOf(r) {
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
	total := stage{name: "total", measured: r.Seconds, bytes: r.BytesRead}
	if r.Plan != nil {
		total.predicted = r.Plan.Seconds
	}
	lines := [][]string{{"stage", "predicted", "measured", "bytes", "rate"}}
	for _, s := range append(stagesOf(r), total) {
		lines = append(lines, []string{
			s.name, known(s.predicted), known(s.measured), humanBytes(s.bytes), rate(s.bytes, s.measured),
		})
	}
	if err := writeTable(w, lines); err != nil {
		return err
	}
	for _, c := range changesOf(r) {
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

// A stage of a run as it was predicted and measured, in seconds; 0: it was not foreseen, or did not run.
type stage struct {
	name                string
	predicted, measured float64
	bytes               int64
}

// stagesOf joins the stages of the plan with the phases that measure them, by name.
func stagesOf(r *extsort.Report) (stages []stage) {
	for _, p := range r.Phases {
		stages = append(stages, stage{name: p.Name, measured: p.Seconds, bytes: p.Bytes})
	}
	if r.Plan == nil {
		return stages
	}
	for _, p := range r.Plan.Stages {
		at := slices.IndexFunc(stages, func(s stage) bool { return s.name == p.Name })
		if at < 0 {
			at, stages = len(stages), append(stages, stage{name: p.Name, bytes: p.Bytes})
		}
		stages[at].predicted = p.Seconds
	}
	return stages
}

// A change of mind: another strategy ran than was planned.
type change struct {
	planned, ran extsort.Strategy
	why          string // "": nobody says
}

func (c change) String() string {
	s := fmt.Sprintf("%s was planned, %s ran", c.planned, c.ran)
	if c.why != "" {
		s += ": " + c.why
	}
	return s
}

// changesOf are the changes of mind of a run, in their order.
func changesOf(r *extsort.Report) []change {
	if r.Plan == nil || r.Plan.Strategy == "" || r.Plan.Strategy == r.Strategy {
		return nil
	}
	return []change{{planned: r.Plan.Strategy, ran: r.Strategy}}
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
