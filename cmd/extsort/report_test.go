package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/session"
)

// TestReportsTellWhatRan checks that each predicted stage appears next to the stage that ran, and
// that the report mentions a change of strategy.
func TestReportsTellWhatRan(t *testing.T) {
	r := &session.Report{
		Strategy: session.InCore, BytesRead: 1 << 20, Seconds: 3,
		Detail: session.Detail{
			Phases: []session.Phase{
				{Name: "start", Seconds: 1}, {Name: "read", Predicted: 4, Seconds: 2, Bytes: 1 << 20},
				{Name: "µ", Predicted: 5, Corrected: 2.5, Bytes: 1 << 20},
			},
			Changes: []session.Change{{Planned: "merge", Why: "the disk is full", Ran: session.InCore}},
			Plan: &session.SortPlan{Strategy: "merge", Seconds: 9, TempBytes: 1, Considered: make([]plan.Candidate, 1),
				Sizes: plan.Sizes{Queue: plan.Queue{Requests: 48, Bytes: 1 << 20, Input: true}}},
			Corrected: 4.5,
		},
	}
	var explained, stats strings.Builder
	writeExplain(&explained, r)
	writeStats(&stats, r)
	for pattern, text := range map[string]string{
		`(?m)^start +- +- +1.0 s +0 B +-$`:                                      explained.String(),
		`(?m)^read +4.0 s +- +2.0 s +1 MiB +512 KiB/s$`:                         explained.String(),
		`(?m)^µ     +5.0 s +2.5 s +- +1 MiB +-$`:                                explained.String(),
		`(?m)^total +9.0 s +4.5 s +3.0 s`:                                       explained.String(),
		`(?m)^direct I/O  input, temporary data; 48 requests of 1 MiB at once$`: explained.String(),
		`(?m)^changed: from strategy merge to in-core: the disk is full$`:       explained.String(),
		`(?m)^changed +from strategy merge to in-core: the disk is full$`:       stats.String(),
		`(?m)^  read +2.0 s, 1 MiB, 512 KiB/s$`:                                 stats.String(),
	} {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("no %s in\n%s", pattern, text)
		}
	}
}
