package main

import (
	"github.com/extsort/extsort/internal/option"
)

// reportFlags selects the reports about a run.
type reportFlags struct {
	progress string
	stats    string // "", text, json or json:FILE
	explain  bool
	quiet    bool

	side   *sideFile // the FILE of json:FILE; nil: none, or not open yet
	result any       // result of the run, for JSON; nil: the run failed earlier
}

func progressFlag(g group, v *flagValues) {
	v.report.progress = "auto"
	g.add(oneOf(
		&v.report.progress, "WHEN", "auto", "always", "never",
	), "progress",
		"show progress on standard error; auto shows it only on a terminal").
		notWith("-q", "-C", "-c=quiet", "-c=silent", "--join")
}

func quietFlag(g group, v *flagValues) {
	g.bool(
		&v.report.quiet, "quiet,q", "no progress and no warnings, only errors",
	).notWith("--join")
}

func statsFlag(g group, v *flagValues) {
	stats := &value[string]{
		target:  &v.report.stats,
		kind:    "FORM",
		allowed: []string{"text", "json", "json:FILE"},
	}
	stats.parse = parseStats
	g.add(
		stats,
		"stats",
		"report what was done, the time of each stage and the resources used",
	).NoOptDefVal = "text"
}

func explainFlag(g group, v *flagValues) {
	g.bool(
		&v.report.explain,
		"explain",
		"compare the plan's predictions with the measured times",
	).
		notWith("-c")
}

func verifyFlag(g group, v *flagValues) {
	g.bool(&v.opt.Verify, "verify",
		"check that the output is in order and contains the records that were read").
		sets(option.Verify).hints("sum").notWith("-c").
		notIn("shuffle", "a random order cannot be checked")
}
