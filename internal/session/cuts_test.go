package session

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

func partOf(k, n int) Part { return Part{K: int64(k), N: int64(n)} }

// TestPartsSeeDisorder puts one record out of order at any position. At least one of the parts
// fails and names it.
func TestPartsSeeDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for record := 1; record < 60; record++ {
		opt := MergeOptions{Record: k.spec}
		for i := range 3 {
			piece := k.make(t, "sorted", 60, rand.New(rand.NewPCG(uint64(i), 1)))
			if i == 1 {
				swapRecords(piece, 8, record-1)
			}
			opt.Inputs = append(opt.Inputs, writeFile(t, piece))
		}
		seen := 0
		for p := range 6 {
			opt.Part = partOf(p, 6)
			_, err := mergeToBytes(t, opt)
			disorder, ok := errors.AsType[*DisorderError](err)
			if ok && (disorder.File != opt.Inputs[1] || disorder.Record != int64(record)) || err != nil && !ok {
				t.Errorf("disorder in record %d: %v", record, err)
			}
			if err != nil {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("no part sees record %d", record)
		}
	}
}

// TestPartsOfMergesAreRefused checks the options that cannot be combined with a part of a merge.
func TestPartsOfMergesAreRefused(t *testing.T) {
	t.Parallel()
	a := writeFile(t, []byte("abc"))
	base := MergeOptions{Record: format.Spec{Type: "u8"}, Inputs: []string{a, a}}
	for want, change := range map[string]func(*MergeOptions){
		"part and limit cannot":     func(o *MergeOptions) { o.Part, o.Unique, o.Limit = partOf(0, 2), true, 1 },
		"needs 3 cuts":              func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 2), [][]int64{{0, 0}, {3, 3}} },
		"but there are 2":           func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 1), [][]int64{{0}, {3}} },
		"not all inputs are sorted": func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 1), [][]int64{{2, 0}, {1, 3}} },
		"begin with record 1":       func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 1), [][]int64{{1, 0}, {3, 3}} },
		"end at record 2, but it has 3": func(o *MergeOptions) {
			o.Part, o.Cuts = partOf(1, 2), [][]int64{{0, 0}, {1, 1}, {3, 2}}
		},
		"is both an input and the output": func(o *MergeOptions) { o.Part, o.Output = partOf(0, 1), a },
		"cannot be read at an offset": func(o *MergeOptions) {
			o.Part, o.Inputs, o.Stdin = partOf(0, 1), []string{a, "-"}, bytes.NewReader(nil)
		},
	} {
		opt := base
		change(&opt)
		if _, err := mergeToBytes(t, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := Cuts(t.Context(), base, 0); err == nil {
		t.Error("no parts are not refused")
	}
	opt := base
	opt.Part = partOf(3, 3)
	if _, err := Cuts(t.Context(), opt, 4); err == nil {
		t.Error("no share is not refused")
	}
	base.Cuts = [][]int64{{0}, {3}}
	if _, err := mergeToBytes(t, base); err == nil || !strings.Contains(err.Error(), "cuts: a merge") {
		t.Errorf("cuts of no part: %v", err)
	}
}

// TestSummariesOfPartsAddUp merges parts with verification. Combined, their summaries equal that
// of a check of the whole.
func TestSummariesOfPartsAddUp(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u8", "rec7", "f64"} {
		k := kindNamed(name)
		recs := k.make(t, "few", 500, r)
		opt := Options{Record: k.spec, Reverse: r.IntN(2) == 0}
		opt.Inputs = []string{writeFile(t, reference(t, k.layout(t), recs, opt))}
		whole, err := Check(t.Context(), checkOptions(opt))
		if err != nil {
			t.Fatal(err)
		}
		opt.Verify = true
		var joined *Summary
		for p := range 7 {
			opt.Part, opt.Stdout = partOf(p, 7), io.Discard
			report, err := mergeAs(t.Context(), opt)
			switch {
			case err != nil:
				t.Fatal(err)
			case joined == nil:
				joined = report.Summary
			case !joined.Precedes(report.Summary, false):
				t.Errorf("%+v before %+v", joined, report.Summary)
			default:
				err = joined.Add(report.Summary)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if *joined != whole.Summary {
			t.Errorf("%s: the parts add up to %+v, the whole is %+v", name, joined, whole.Summary)
		}
	}
}
