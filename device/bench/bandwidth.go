package bench

import (
	"fmt"
	"strconv"

	"github.com/extsort/extsort/device/opencl/algo"
)

// The published kernels of Harada and Howes use 64 work-items per group. In their figure 2,
// bandwidth over the number of work-items saturates before 10,000 of them.
const (
	bandwidthGroup = 64
	bandwidthMost  = 1 << 10 // groups
)

// bandwidthCases vary the number of work-groups at the largest size.
func bandwidthCases(s Scope) []Case {
	var settings []setting
	for groups := 1; groups <= bandwidthMost; groups *= 2 {
		label := strconv.Itoa(groups * bandwidthGroup)
		settings = append(settings, setting{label, "count-scan-reorder", algo.Params{
			DigitBits: 4,
			Groups:    groups,
		}})
	}
	return s.casesOf([]int64{s.Max}, settings...)
}

// bandwidthTables returns tables of the bytes per second that the count reads, and that the
// reorder reads and writes.
func bandwidthTables(results []Result) []Table {
	var tables []Table
	for _, g := range groupResults(results) {
		t := Table{
			Title: fmt.Sprintf(
				"count-scan-reorder by 4 bits, %s, %s, n = 2^%s",
				g[0].Key,
				g[0].Dist,
				log2(g[0].Records),
			),
			Head:  []string{"work-items", "groups", "count, GB/s", "reorder, GB/s", "Mkeys/s"},
			Notes: wrongResults(g),
		}
		for _, r := range g {
			element := float64(tilingOf(r).elementBytes)
			t.Rows = append(t.Rows, []string{r.Label, strconv.Itoa(r.Params.Groups),
				bandwidth(
					r,
					"count_items",
					float64(r.Key.WordBytes),
				), bandwidth(r, "reorder_packed", 2*element), resultText(r)})
		}
		tables = append(tables, t)
	}
	return tables
}

// bandwidth returns the bytes per second of a kernel that moves the given bytes for each key and
// pass.
func bandwidth(r Result, kernel string, bytes float64) string {
	seconds := r.Kernels[kernel]
	if seconds == 0 {
		return "-"
	}
	return fmt.Sprintf(
		"%.2f", float64(r.Records)*float64(r.Passes)*bytes/seconds/1e9,
	)
}
