package extsort_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort"
)

// twoStreams returns inputs of one-letter records.
func twoStreams(a, b string) extsort.Input {
	return extsort.Input{Sources: []extsort.Source{
		{Name: "a", Reader: strings.NewReader(a)},
		{Name: "b", Reader: strings.NewReader(b)},
	}}
}

// New words since yesterday.
func ExampleCombine() {
	_, err := extsort.Combine(context.Background(), extsort.SetJob{
		Operation: extsort.SetSubtract,
		Input:     twoStreams("abcde", "ace"),
		Record:    letters,
		Output:    extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: bd <nil>
}

// Each record of A, a letter and a digit, is paired with the records of B that begin with the letter.
func ExampleCombine_join() {
	letter := extsort.KeyField{Type: extsort.U8}
	_, err := extsort.Combine(context.Background(), extsort.SetJob{
		Operation:   extsort.JoinInner,
		Input:       extsort.Input{Reader: strings.NewReader("a1a2c3")},
		Record:      extsort.Record{Size: 2, Keys: []extsort.KeyField{letter}},
		Right:       &extsort.Input{Reader: strings.NewReader("aXXbYYcZZ")},
		RightRecord: extsort.Record{Size: 3, Keys: []extsort.KeyField{letter}},
		Columns:     []string{"a", "b.1:bytes2"},
		Output:      extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: a1XXa2XXc3ZZ <nil>
}

// TestCombineCounts compares two inputs and writes all outputs of the comparison.
func TestCombineCounts(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	report, err := extsort.Combine(t.Context(), extsort.SetJob{
		Operation: extsort.SetCompare,
		Input:     twoStreams("aabcc", "bbcd"),
		Record:    letters,
		OnlyA:     path("a"),
		OnlyB:     path("b"),
		Both:      path("both"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := *report
	got.Report = nil
	want := extsort.SetReport{
		KeysOnlyA: 1, RecordsOnlyA: 2, KeysOnlyB: 1, RecordsOnlyB: 1,
		KeysInBoth: 2, RecordsOfAInBoth: 3, RecordsOfBInBoth: 3,
	}
	if got != want || report.RecordsRead != 9 {
		t.Errorf("the report is %+v and has %d records, want %+v", got, report.RecordsRead, want)
	}
	for name, want := range map[string]string{"a": "aa", "b": "d", "both": "bcc"} {
		if got, err := os.ReadFile(path(name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestCombine lists operations on two inputs of letters.
func TestCombine(t *testing.T) {
	for operation, want := range map[extsort.SetOperation]string{
		extsort.SetUnion:     "aabccd",
		extsort.SetIntersect: "bcc",
		extsort.SetSubtract:  "aa",
		extsort.JoinInner:    "bbcc",
		extsort.JoinLeft:     "aabbcc",
		extsort.JoinRight:    "bbccd",
		extsort.JoinOuter:    "aabbccd",
	} {
		var out bytes.Buffer
		job := extsort.SetJob{
			Operation: operation,
			Input:     twoStreams("aabcc", "bbcd"),
			Record:    letters,
			Output:    extsort.Output{Writer: &out},
		}
		if _, err := extsort.Combine(t.Context(), job); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", operation, out.String(), err, want)
		}

		out.Reset()
		job.Input = twoStreams("cbaca", "dbbc")
		job.Sort = true
		job.Resources.Memory = 64 << 20
		if _, err := extsort.Combine(t.Context(), job); err != nil || out.String() != want {
			t.Errorf("%s of unsorted inputs: %q, %v; want %q", operation, out.String(), err, want)
		}
	}
}

// TestCombineErrors lists jobs that cannot run.
func TestCombineErrors(t *testing.T) {
	for want, change := range map[string]func(*extsort.SetJob){
		"Operation":  func(j *extsort.SetJob) { j.Operation = "minus" },
		"All":        func(j *extsort.SetJob) { j.Operation = extsort.JoinInner; j.All = true },
		"Columns":    func(j *extsort.SetJob) { j.Presence = true },
		"OnlyA":      func(j *extsort.SetJob) { j.Both = "x" },
		"Input":      func(j *extsort.SetJob) { j.Input = extsort.Input{Reader: strings.NewReader("")} },
		"Output":     func(j *extsort.SetJob) { j.Output = extsort.Output{} },
		"Input.Part": func(j *extsort.SetJob) { j.Input.Part = extsort.Part{Index: 2, Count: 2} },
		"Output.KeepHeader": func(j *extsort.SetJob) {
			j.Operation = extsort.JoinInner
			j.Input.HeaderBytes = 1
			j.Output.KeepHeader = true
		},
	} {
		job := extsort.SetJob{
			Operation: extsort.SetSubtract,
			Input:     twoStreams("a", "b"),
			Record:    letters,
			Output:    extsort.Output{Writer: &bytes.Buffer{}},
		}
		change(&job)
		_, err := extsort.Combine(t.Context(), job)
		if option, ok := errors.AsType[*extsort.OptionError](err); !ok || option.Option != want {
			t.Errorf("%s: the error is %v", want, err)
		}
	}

	job := extsort.SetJob{
		Operation: extsort.SetUnion,
		Input:     twoStreams("ab", "bda"),
		Record:    letters,
		Output:    extsort.Output{Writer: &bytes.Buffer{}},
	}
	_, err := extsort.Combine(t.Context(), job)
	if disorder, ok := errors.AsType[*extsort.DisorderError](err); !ok || disorder.File != "b" || disorder.Record != 2 {
		t.Errorf("the error is %v", err)
	}
}
