package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
)

// writeMarkdown prints the machine, a table for each workload, and the command lines of its rows.
func (r *report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"Machine: %s  \nVersions: %s  \nCommand: `%s`  \n",
		r.Machine,
		strings.Join(r.Versions, "; "),
		strings.TrimSpace(
			"go run ./cmd/compare "+command(r.Arguments).String(),
		),
	)
	fmt.Fprintf(&b, "Medians of %d runs [minimum–maximum] in turns, after a warm-up run. "+
		"Every output was checked.\n", r.Runs)
	r.appendOverview(&b)
	for _, s := range r.Workloads {
		s.appendMarkdown(&b)
	}
	appendReasons(&b, "Missing peers:", r.Missing)
	_, err := io.WriteString(w, b.String())
	return err
}

// appendOverview appends the medians of all workloads as one table, a row for each contender.
func (r *report) appendOverview(b *strings.Builder) {
	if len(r.Workloads) < 2 {
		return
	}
	b.WriteString("\nMedians in seconds; * means a single run:\n\n| | memory limit |")
	rule := "|---|--:|"
	var rows []result // the first result of each contender
	for _, s := range r.Workloads {
		fmt.Fprintf(b, " `%s` |", s.Name)
		rule += "--:|"
		for _, found := range s.Results {
			if !slices.ContainsFunc(rows, found.isSame) {
				rows = append(rows, found)
			}
		}
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |", row.Name, sizeText(row.Memory))
		for _, s := range r.Workloads {
			b.WriteString(" " + s.cell(row) + " |")
		}
		b.WriteString("\n")
	}
}

// isSame reports whether two results are of the same contender with the same memory limit.
func (r result) isSame(other result) bool { return r.Name == other.Name && r.Memory == other.Memory }

// cell returns the median of a contender in the overview.
func (s *section) cell(row result) string {
	at := slices.IndexFunc(s.Results, row.isSame)
	if at < 0 {
		return ""
	}
	r := s.Results[at]
	switch {
	case r.Failed != "":
		return "failed"
	case len(r.Seconds) == 1:
		return fmt.Sprintf("%.2f*", r.Summary.Median)
	}
	return fmt.Sprintf("%.2f", r.Summary.Median)
}

func (s *section) appendMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s (`%s`): %s\n\n", s.Title, s.Name, s.Size)
	yardsticks := s.yardstickNames()
	fmt.Fprintf(b, "| | memory limit | seconds | × %s | × %s | GB/s | peak memory |\n", yardsticks[0], yardsticks[1])
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range s.Results {
		b.WriteString(r.row())
	}
	b.WriteString("\n```sh\n")
	for _, r := range s.Results {
		b.WriteString(r.Command + "\n")
	}
	b.WriteString("```\n")
	appendReasons(b, "Left out:", s.LeftOut)
}

func appendReasons(b *strings.Builder, title string, reasons []string) {
	if len(reasons) > 0 {
		fmt.Fprintf(b, "\n%s\n\n- %s\n", title, strings.Join(reasons, "\n- "))
	}
}

// row returns the result as a line of the table.
func (r result) row() string {
	if r.Failed != "" {
		return fmt.Sprintf("| %s | %s | failed: %s | | | | |\n", r.Name, sizeText(r.Memory),
			strings.ReplaceAll(r.Failed, "|", "\\|"))
	}
	return fmt.Sprintf(
		"| %s | %s | %s | %s | %s | %.2f | %s |\n",
		r.Name,
		sizeText(r.Memory),
		r.Summary,
		times(r.PerCopy),
		times(r.PerTwo),
		r.Rate/1e9,
		sizeText(r.PeakMemory),
	)
}

// String returns the median with the minimum and the maximum, with about three digits.
func (s summary) String() string {
	digits := 2
	if s.Median < 1 {
		digits = 3
	}
	return fmt.Sprintf(
		"%.*f [%.*f–%.*f]", digits, s.Median, digits, s.Min, digits, s.Max,
	)
}

func times(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", ratio)
}

// sizeText formats a size, or returns "" for 0.
func sizeText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return binarySize(bytes)
}

// binarySize formats a number of bytes with a binary unit.
func binarySize(bytes int64) string {
	return humanize.IBytes(uint64(bytes))
}
