package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// The limits beyond which the table reports a row.
const (
	maxSlower    = 1.05 // maximum ratio of the last version to the first one
	minPredicted = 0.6  // minimum ratio of predicted to measured time
	maxPredicted = 1.6
	maxRegret    = 1.15 // maximum ratio to the best forced strategy
	maxPerTmpfs  = 1.1  // in tmpfs, maximum ratio to the first version, with -o or redirected, whichever is faster
)

// tableReport is the report of the file of a table.
type tableReport struct {
	start   start // the last one
	skipped []string
	results []rowResult
}

// rowResult contains the figures of one row. Unknown medians are 0.
type rowResult struct {
	name          string
	runs          int // minimum of all versions
	versionTimes  []summary
	copy, sync    summary
	redirected    summary  // first version with redirected output
	best          summary  // of the forced strategies
	bestName      string   //
	ranStrategies []string // strategies
	predicted     []string
	prediction    float64 // seconds
	processor     float64 // seconds
	spilled       float64 // bytes
	written       float64 // bytes, to disks
	cold          coldFigures
	failed        []string
	ownFailed     bool
}

// printTable prints the report of an existing file.
func printTable(w io.Writer, name string) error {
	l, err := readLog(name)
	if err != nil {
		return err
	}
	if len(l.starts) == 0 {
		return fmt.Errorf("%s contains no table", name)
	}
	return newTableReport(l).write(w)
}

func newTableReport(l *tableLog) *tableReport {
	t := &tableReport{start: l.starts[len(l.starts)-1]}
	for _, s := range l.starts {
		t.skipped = append(t.skipped, s.Skipped...)
	}
	slices.Sort(t.skipped)
	t.skipped = slices.Compact(t.skipped)
	var names []string
	for _, e := range l.runs {
		names = append(names, e.Row)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.Compare(tableOrder(a), tableOrder(b)), cmp.Compare(a, b))
	})
	for _, name := range slices.Compact(names) {
		t.results = append(t.results, l.result(name, t.start.Versions))
	}
	return t
}

// result computes the figures of a row. It describes the plan and its execution for the last
// version only.
func (l *tableLog) result(name string, versions []version) rowResult {
	first := versions[0]
	last := versions[len(versions)-1]
	r := rowResult{name: name, copy: l.summary(name, plainCopy), sync: l.summary(name, syncedCopy),
		redirected: l.summary(name, first.redirected())}
	r.runs = len(l.successfulRuns(name, last.auto()))
	for _, v := range versions {
		r.versionTimes = append(r.versionTimes, l.summary(name, v.auto()))
		r.runs = min(r.runs, len(l.successfulRuns(name, v.auto())))
	}
	r.describe(l.successfulRuns(name, last.auto()))
	r.cold = l.coldFigures(name, last, versions)
	for _, strategy := range forcible {
		r.consider(strategy, l.successfulRuns(name, last.forced(strategy)))
	}
	r.findFailures(l, versions)
	return r
}

// describe stores the plan and its execution from the runs without a forced strategy.
func (r *rowResult) describe(runs []entry) {
	r.prediction = medianOf(runs, func(e entry) float64 {
		return e.PredictedSeconds
	})
	r.processor = medianOf(runs, func(e entry) float64 { return e.Processor })
	r.spilled = medianOf(runs, func(e entry) float64 {
		return float64(e.Spilled)
	})
	r.written = medianOf(runs, func(e entry) float64 {
		return float64(e.Written)
	})
	for _, e := range runs {
		r.ranStrategies = append(r.ranStrategies, e.RanStrategy)
		r.predicted = append(r.predicted, e.Predicted)
	}
	for _, names := range []*[]string{&r.ranStrategies, &r.predicted} {
		slices.Sort(*names)
		*names = slices.Compact(*names)
	}
}

// consider stores the times of a forced strategy if they are the best so far. Runs that did not
// follow it do not count.
func (r *rowResult) consider(strategy string, runs []entry) {
	runs = slices.DeleteFunc(runs, func(e entry) bool {
		return !entrant{strategy: strategy}.follows(e)
	})
	s := summarize(valuesOf(runs, func(e entry) float64 { return e.Seconds }))
	if s.Median > 0 && (r.bestName == "" || s.Median < r.best.Median) {
		r.best = s
		r.bestName = strategy
	}
}

// findFailures stores the failures of contenders that never succeeded.
func (r *rowResult) findFailures(l *tableLog, versions []version) {
	for _, e := range l.runs {
		if e.Row != r.name || e.Failed == "" ||
			len(l.successfulRuns(e.Row, e.Contender)) > 0 {
			continue
		}
		r.failed = append(r.failed, e.Contender+": "+e.Failed)
		r.ownFailed = r.ownFailed ||
			slices.ContainsFunc(versions, func(v version) bool {
				return v.runs(e.Contender)
			})
	}
	slices.Sort(r.failed)
	r.failed = slices.Compact(r.failed)
}

// successfulRuns returns the successful runs of a contender in a row.
func (l *tableLog) successfulRuns(row, contender string) []entry {
	return slices.DeleteFunc(l.runsOf(row, contender), func(e entry) bool {
		return e.Failed != ""
	})
}

func (l *tableLog) summary(row, contender string) summary {
	return summarize(valuesOf(l.successfulRuns(row, contender), func(e entry) float64 {
		return e.Seconds
	}))
}

func valuesOf(runs []entry, of func(entry) float64) []float64 {
	var values []float64
	for _, e := range runs {
		values = append(values, of(e))
	}
	return values
}

func medianOf(runs []entry, of func(entry) float64) float64 {
	return summarize(valuesOf(runs, of)).Median
}

// lastVersion returns the times of the last version, and firstVersion those of the first version.
func (r rowResult) lastVersion() summary  { return r.versionTimes[len(r.versionTimes)-1] }
func (r rowResult) firstVersion() summary { return r.versionTimes[0] }

func (r rowResult) change() float64 {
	return ratio(r.lastVersion().Median, r.firstVersion().Median)
}
func (r rowResult) predictionRatio() float64 {
	return ratio(r.prediction, r.lastVersion().Median)
}
func (r rowResult) regret() float64 {
	return ratio(r.lastVersion().Median, r.best.Median)
}

// slower returns a mark if the last version is slower than the first one. The mark depends on
// whether the difference exceeds the spread, which means that neither median is within the range
// of the other version.
func (r rowResult) slower() string {
	switch {
	case r.change() <= maxSlower:
		return ""
	case r.lastVersion().Median > r.firstVersion().Max && r.firstVersion().Median < r.lastVersion().Min:
		return "**slower**"
	}
	return "slower?"
}

// perTmpfs returns the ratio of the last version to the first one, with -o or redirected output,
// whichever is faster.
func (r rowResult) perTmpfs() float64 {
	if r.redirected.Median == 0 {
		return 0
	}
	return ratio(r.lastVersion().Median, min(r.redirected.Median, r.firstVersion().Median))
}

// verdict returns an error if extsort itself failed.
func (t *tableReport) verdict() error {
	if slices.ContainsFunc(t.results, func(r rowResult) bool { return r.ownFailed }) {
		return errWrong
	}
	return nil
}

// write prints the table as Markdown, followed by the rows that exceed a limit.
func (t *tableReport) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"Machine: %s  \nData: %s a row  \n",
		t.start.Machine,
		binarySize(t.start.Size),
	)
	for _, v := range t.start.Versions {
		fmt.Fprintf(&b, "Version %s: %s (%s)  \n", v.Name, v.Reported, v.Sum)
	}
	if t.confined() {
		t.writeConfinement(&b)
	} else {
		b.WriteString(
			"Medians in seconds [minimum–maximum], in random order, with the input in the page cache. " +
				"In rows with pipes, cp is cat | cat.\n\n",
		)
	}
	t.writeRows(&b)
	t.complain(&b)
	appendReasons(&b, "Skipped:", t.skipped)
	_, err := io.WriteString(w, b.String())
	return err
}

// column is one column of the table.
type column struct {
	title      string
	alignsLeft bool
	cell       func(rowResult) string
}

// columns returns the columns of the table. There are more for several versions.
func (t *tableReport) columns() []column {
	all := []column{{"row", true, func(r rowResult) string { return r.name }},
		{"runs", false, func(r rowResult) string { return fmt.Sprint(r.runs) }}}
	for i, v := range t.start.Versions {
		all = append(all, column{v.Name, false, func(r rowResult) string {
			return seconds(r.versionTimes[i])
		}})
	}
	n := len(t.start.Versions)
	if n > 1 {
		title := t.start.Versions[n-1].Name + " / " + t.start.Versions[0].Name
		all = append(all, column{title, false, func(r rowResult) string {
			return strings.TrimSpace(times(r.change()) + " " + r.slower())
		}})
	}
	if t.confined() {
		return append(all, confinedColumns...)
	}
	return append(all, planColumns...)
}

// planColumns are columns for the last version.
var planColumns = []column{
	{"cp", false, func(r rowResult) string { return seconds(r.copy) }},
	{"cp+sync", false, func(r rowResult) string { return seconds(r.sync) }},
	{"× cp", false, func(r rowResult) string {
		return times(ratio(r.lastVersion().Median, r.copy.Median))
	}},
	{"× cp+sync", false, func(r rowResult) string {
		return times(ratio(r.lastVersion().Median, r.sync.Median))
	}},
	{"`> out`", false, func(r rowResult) string {
		return seconds(r.redirected)
	}},
	predictedColumn, ranColumn, foreseenColumn, bestColumn, regretColumn,
	{"CPU s", false, func(r rowResult) string {
		return times(r.processor)
	}},
	{"spilled", false, func(r rowResult) string {
		return sizeText(int64(r.spilled))
	}},
	{"to disk", false, func(r rowResult) string {
		return sizeText(int64(r.written))
	}},
}

// Columns for the plan, which both tables have.
var (
	predictedColumn = column{"predicted", true, func(r rowResult) string {
		return strings.Join(r.predicted, ", ")
	}}
	ranColumn = column{"ran", true, func(r rowResult) string {
		return strings.Join(r.ranStrategies, ", ")
	}}
	foreseenColumn = column{"predicted / measured", false, func(r rowResult) string {
		return times(r.predictionRatio())
	}}
	bestColumn = column{"best forced", true, func(r rowResult) string {
		return strings.TrimSpace(r.bestName + " " + seconds(r.best))
	}}
	regretColumn = column{"regret", false, func(r rowResult) string {
		return times(r.regret())
	}}
)

// seconds formats a summary, or returns "" if there are no runs.
func seconds(s summary) string {
	if s.Median == 0 {
		return ""
	}
	return s.String()
}

func (t *tableReport) writeRows(b *strings.Builder) {
	columns := t.columns()
	line := func(of func(column) string) {
		for _, c := range columns {
			fmt.Fprintf(b, "| %s ", of(c))
		}
		b.WriteString("|\n")
	}
	line(func(c column) string { return c.title })
	line(func(c column) string {
		if c.alignsLeft {
			return "---"
		}
		return "--:"
	})
	for _, r := range t.results {
		line(func(c column) string { return c.cell(r) })
	}
}

// complain lists the rows that exceed a limit.
func (t *tableReport) complain(b *strings.Builder) {
	all := append(slices.Clone(bounds), tmpfsBound)
	if t.confined() {
		all = append(slices.Clone(bounds), t.confinedBounds()...)
	}
	for _, bound := range all {
		var found []string
		for _, r := range t.results {
			text := bound.remark(r)
			if text != "" {
				found = append(found, r.name+": "+text)
			}
		}
		appendReasons(
			b,
			fmt.Sprintf(
				"%s: %d of %d rows", bound.title, len(found), len(t.results),
			),
			found,
		)
	}
}

// A bound is a limit for rows. beyond returns a remark if a row exceeds it, and "" otherwise.
type bound struct {
	title  string
	remark func(rowResult) string
}

// bounds are the limits of both tables.
var bounds = []bound{
	{"Failed", func(r rowResult) string {
		return strings.Join(r.failed, "; ")
	}},
	{"Slower by more than 5 %", func(r rowResult) string {
		return remarkAbove(r.change(), maxSlower, " "+r.slower())
	}},
	{"Ran a different strategy than predicted", func(r rowResult) string {
		if slices.Equal(r.ranStrategies, r.predicted) ||
			slices.Contains(r.predicted, "") {
			return ""
		}
		return strings.Join(r.predicted, ", ") + " → " + strings.Join(r.ranStrategies, ", ")
	}},
	{"Predicted / measured time outside 0.6 to 1.6", func(r rowResult) string {
		if p := r.predictionRatio(); p > 0 && p < minPredicted {
			return times(p)
		}
		return remarkAbove(r.predictionRatio(), maxPredicted, "")
	}},
	{"Regret above 1.15", func(r rowResult) string {
		return remarkAbove(r.regret(), maxRegret, " "+r.bestName)
	}},
}

var tmpfsBound = bound{"In tmpfs, more than 1.1 × the faster of `-o out` and `> out` of the first version",
	func(r rowResult) string { return remarkAbove(r.perTmpfs(), maxPerTmpfs, "") }}

// remarkAbove returns a ratio with a remark if it exceeds a limit, and "" otherwise.
func remarkAbove(ratio, bound float64, remark string) string {
	if ratio <= bound {
		return ""
	}
	return times(ratio) + remark
}
