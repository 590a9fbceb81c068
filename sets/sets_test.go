package sets_test

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
	"github.com/extsort/extsort/sets"
)

// letters are records of one character.
var letters = extsort.Record{Type: extsort.Bytes(1)}

// twoStreams returns inputs of one-letter records.
func twoStreams(a, b string) extsort.Input {
	return extsort.Input{Sources: []extsort.Source{
		{Name: "a", Reader: strings.NewReader(a)},
		{Name: "b", Reader: strings.NewReader(b)},
	}}
}

// New words since yesterday.
func ExampleRun() {
	_, err := sets.Run(context.Background(), sets.Job{
		Operation: sets.Subtract,
		Input:     twoStreams("abcde", "ace"),
		Record:    letters,
		Output:    extsort.Output{Writer: os.Stdout},
	})
	fmt.Println("", err)
	// Output: bd <nil>
}

// Each record of A, a letter and a digit, is paired with the records of B that begin with the letter.
func ExampleRun_join() {
	letter := extsort.KeyField{Type: extsort.U8}
	_, err := sets.Run(context.Background(), sets.Job{
		Operation:   sets.InnerJoin,
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

// TestCounts compares two inputs and writes all outputs of the comparison.
func TestCounts(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	report, err := sets.Run(t.Context(), sets.Job{
		Operation: sets.Compare,
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
	want := sets.Report{
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

// TestRun lists operations on two inputs of letters.
func TestRun(t *testing.T) {
	for operation, want := range map[sets.Operation]string{
		sets.Union:     "aabccd",
		sets.Intersect: "bcc",
		sets.Subtract:  "aa",
		sets.InnerJoin: "bbcc",
		sets.LeftJoin:  "aabbcc",
		sets.RightJoin: "bbccd",
		sets.OuterJoin: "aabbccd",
	} {
		var out bytes.Buffer
		job := sets.Job{
			Operation: operation,
			Input:     twoStreams("aabcc", "bbcd"),
			Record:    letters,
			Output:    extsort.Output{Writer: &out},
		}
		if _, err := sets.Run(t.Context(), job); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v; want %q", operation, out.String(), err, want)
		}

		out.Reset()
		job.Input = twoStreams("cbaca", "dbbc")
		job.Sort = true
		job.Resources.Memory = 64 << 20
		if _, err := sets.Run(t.Context(), job); err != nil || out.String() != want {
			t.Errorf("%s of unsorted inputs: %q, %v; want %q", operation, out.String(), err, want)
		}
	}
}

// TestErrors lists jobs that cannot run.
func TestErrors(t *testing.T) {
	for want, change := range map[string]func(*sets.Job){
		"Operation":  func(j *sets.Job) { j.Operation = "minus" },
		"All":        func(j *sets.Job) { j.Operation = sets.InnerJoin; j.All = true },
		"Columns":    func(j *sets.Job) { j.Presence = true },
		"OnlyA":      func(j *sets.Job) { j.Both = "x" },
		"Input":      func(j *sets.Job) { j.Input = extsort.Input{Reader: strings.NewReader("")} },
		"Output":     func(j *sets.Job) { j.Output = extsort.Output{} },
		"Input.Part": func(j *sets.Job) { j.Input.Part = extsort.Part{Index: 2, Count: 2} },
		"Output.KeepHeader": func(j *sets.Job) {
			j.Operation = sets.InnerJoin
			j.Input.HeaderBytes = 1
			j.Output.KeepHeader = true
		},
	} {
		job := sets.Job{
			Operation: sets.Subtract,
			Input:     twoStreams("a", "b"),
			Record:    letters,
			Output:    extsort.Output{Writer: &bytes.Buffer{}},
		}
		change(&job)
		_, err := sets.Run(t.Context(), job)
		if option, ok := errors.AsType[*extsort.OptionError](err); !ok || option.Option != want {
			t.Errorf("%s: the error is %v", want, err)
		}
	}

	job := sets.Job{
		Operation: sets.Union,
		Input:     twoStreams("ab", "bda"),
		Record:    letters,
		Output:    extsort.Output{Writer: &bytes.Buffer{}},
	}
	_, err := sets.Run(t.Context(), job)
	if disorder, ok := errors.AsType[*extsort.DisorderError](err); !ok || disorder.File != "b" || disorder.Record != 2 {
		t.Errorf("the error is %v", err)
	}
}
