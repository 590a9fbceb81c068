package extsort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/option"
)

// TestFieldsOfJobs checks that every option that a message can name is a field of a job.
func TestFieldsOfJobs(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "internal/option/option.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := 0
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, ".") {
			return true
		}
		name := option.Field(strings.Trim(lit.Value, `"`))
		if strings.HasPrefix(string(name), "Options.") {
			options++
			if shown := name.String(); strings.HasPrefix(shown, "Options.") {
				t.Errorf("%s has no field of a job", shown)
			}
		}
		return true
	})
	if options < 20 {
		t.Errorf("only %d options were seen", options)
	}
}

// TestJobsAreChecked lists jobs that are refused before anything is read or written, with the fields that their errors
// name. In particular, a job without an input or an output never uses the standard streams.
func TestJobsAreChecked(t *testing.T) {
	valid := Job{
		Input:  Input{Reader: iotest.ErrReader(errors.New("the input was read"))},
		Record: Record{Type: U64},
		Output: Output{Writer: io.Discard},
	}
	for name, c := range map[string]struct {
		change func(j *Job)
		want   string
	}{
		"no input":        {func(j *Job) { j.Input = Input{} }, "Input is empty: set Input.Paths"},
		"no output":       {func(j *Job) { j.Output = Output{} }, "Output is empty: set Output.Path"},
		"two outputs":     {func(j *Job) { j.Output.Path = "x" }, "Output has both Output.Path and Output.Writer"},
		"standard input":  {func(j *Job) { j.Input = Input{Paths: []string{"-"}} }, `Input.Paths[0] "-" is not a file`},
		"standard output": {func(j *Job) { j.Output = Output{Path: "-"} }, `Output.Path "-" is not a file`},
		"empty path":      {func(j *Job) { j.Input = Input{Paths: []string{"a", ""}} }, "Input.Paths[1] is empty"},
		"empty source":    {func(j *Job) { j.Input.Sources = []Source{{Name: "x"}} }, "Input.Sources[0] has 0 of Path"},
		"two sources": {func(j *Job) {
			j.Input.Sources = []Source{{Path: "x", Reader: strings.NewReader("")}}
		}, "Input.Sources[0] has 2 of Path"},
		"size": {func(j *Job) {
			j.Input.Sources = []Source{{ReaderAt: strings.NewReader(""), Size: -1}}
		}, "Input.Sources[0].Size -1"},
		"records":   {func(j *Job) { j.Input.Records = -1 }, "Input.Records -1: must not be negative"},
		"no record": {func(j *Job) { j.Record = Record{} }, "unknown record layout: use Record.Type"},
		"type":      {func(j *Job) { j.Record.Type = "u65" }, `Record.Type: unknown type "u65"`},
		"key": {func(j *Job) {
			j.Record = Record{Size: 4, Keys: []KeyField{{Offset: 2, Type: U32}}}
		}, "needs 4 bytes"},
		"key name":    {func(j *Job) { j.Record.Keys = []KeyField{{Name: "x", Type: U8}} }, "Record.Keys[0] has a Name"},
		"first":       {func(j *Job) { j.Select = First(-1) }, "Select First(-1): must not be negative"},
		"positions":   {func(j *Job) { j.Select = Positions(F64) }, `Select Positions("f64"): use U32 or U64`},
		"keep":        {func(j *Job) { j.Select = Unique(7) }, "Select has an unknown Keep (7)"},
		"compression": {func(j *Job) { j.Output.Compression = "zip" }, "Output.Compression"},
		"strategy":    {func(j *Job) { j.Tuning.Strategy = "bubble" }, `Tuning.Strategy "bubble": use`},
		"checkpoint":  {func(j *Job) { j.Checkpoint = "x" }, "needs an output file (Output.Path)"},
		"split":       {func(j *Job) { j.Output.SplitFiles = 2 }, "needs a name for its files (Output.Path)"},
	} {
		t.Run(name, func(t *testing.T) {
			job := valid
			c.change(&job)
			_, err := Sort(t.Context(), job)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "Options.") {
				t.Errorf("%v names no field of a job", err)
			}
		})
	}
}

// TestAllFaultsAtOnce checks that faults of this package and of the session are reported together, each as an
// OptionError with its field.
func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Sort(t.Context(), Job{
		Record:    Record{Type: "u65"},
		Resources: Resources{Workers: -1, DeviceMemory: -1},
	})
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%v is not joined", err)
	}
	fields := map[string]bool{}
	var collect func(errs []error)
	collect = func(errs []error) {
		for _, err := range errs {
			if more, ok := err.(interface{ Unwrap() []error }); ok {
				collect(more.Unwrap())
			} else if o, ok := errors.AsType[*OptionError](err); ok {
				fields[o.Option] = true
			} else {
				t.Errorf("%v is not an OptionError", err)
			}
		}
	}
	collect(all.Unwrap())
	for _, want := range []string{"Input", "Output", "Record.Type", "Resources.Workers", "Resources.DeviceMemory"} {
		if !fields[want] {
			t.Errorf("no error has the field %s: %v", want, err)
		}
	}
}

// TestMergeAndCheckAreChecked lists fields that a merge and a check cannot use.
func TestMergeAndCheckAreChecked(t *testing.T) {
	for want, change := range map[string]func(j *MergeJob){
		"Select has Positions or Shuffled": func(j *MergeJob) { j.Select = Shuffled(1) },
		"Resources.Devices and":            func(j *MergeJob) { j.Resources.Devices = []string{"cpu"} },
		"Tuning has fields for sorts":      func(j *MergeJob) { j.Tuning.Strategy = StrategyMerge },
		"Output is empty":                  func(j *MergeJob) { j.Output = Output{} },
	} {
		job := MergeJob{
			Input:  Input{Reader: strings.NewReader("")},
			Record: Record{Type: U8},
			Output: Output{Writer: io.Discard},
		}
		change(&job)
		if _, err := Merge(t.Context(), job); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error of a merge is %v, want %q", err, want)
		}
	}

	two := Input{Paths: []string{"a", "b"}}
	_, err := Check(t.Context(), CheckJob{Input: two, Record: Record{Type: U8}})
	if err == nil || !strings.Contains(err.Error(), "Input has 2 files or streams: a check reads one") {
		t.Errorf("the error of a check is %v", err)
	}
	_, _, err = SortBytes(t.Context(), nil, Job{Input: two, Record: Record{Type: U8}, Output: Output{Path: "x"}})
	if err == nil || !strings.Contains(err.Error(), "Input must be empty") ||
		!strings.Contains(err.Error(), "Output must be empty") {
		t.Errorf("the error of SortBytes is %v", err)
	}
}

// TestErrorsAreData checks the fields of errors that happen while a job runs.
func TestErrorsAreData(t *testing.T) {
	failed := errors.New("the disk is on fire")
	job := func(r io.Reader, w io.Writer) Job {
		return Job{
			Input:  Input{Sources: []Source{{Name: "upload", Reader: r}}},
			Record: Record{Type: U32},
			Output: Output{Writer: w},
		}
	}

	for begin, offset := range map[string]int64{"abcdefgh": -1, strings.Repeat("abcd", 5000): 20_000} {
		_, err := Sort(t.Context(), job(io.MultiReader(strings.NewReader(begin), iotest.ErrReader(failed)), io.Discard))
		file, ok := errors.AsType[*FileError](err)
		if !ok || file.Op != "read" || file.File != "upload" || file.Offset != offset || !errors.Is(file.Err, failed) ||
			!errors.Is(err, failed) || file.Error() != err.Error() {
			t.Errorf("a failed read is %#v of %v, want offset %d", file, err, offset)
		}
	}

	_, err := Sort(t.Context(), job(strings.NewReader("abcdefghij"), io.Discard))
	partial, ok := errors.AsType[*PartialRecordError](err)
	if !ok || *partial != (PartialRecordError{File: "upload", Offset: 8, Bytes: 2, RecordSize: 4, text: err.Error()}) {
		t.Errorf("a partial record is %#v of %v", partial, err)
	}
	if !strings.Contains(err.Error(), "Record.Size") || !strings.Contains(err.Error(), "Input.HeaderBytes") {
		t.Errorf("%v does not name the fields of a job", err)
	}

	_, err = Sort(t.Context(), job(panicking{}, io.Discard))
	panicked, ok := errors.AsType[*PanicError](err)
	if !ok || panicked.Value != any(errFailedRead) || !bytes.Contains(panicked.Stack, []byte("panicking")) ||
		!errors.Is(err, errFailedRead) {
		t.Errorf("a panic is %#v of %v", panicked, err)
	}

	_, err = Sort(t.Context(), Job{
		Input:  Input{Paths: []string{filepath.Join(t.TempDir(), "missing")}},
		Record: Record{Type: U32},
		Output: Output{Writer: io.Discard},
	})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}

	_, err = Merge(t.Context(), MergeJob{
		Input: Input{Sources: []Source{
			{Name: "a", Reader: strings.NewReader("ab")},
			{Name: "b", Reader: strings.NewReader("dcx")},
		}},
		Record: Record{Type: U8},
		Output: Output{Writer: io.Discard},
	})
	disorder, ok := errors.AsType[*DisorderError](err)
	if !ok || disorder.File != "b" || disorder.Record != 1 || disorder.Offset != 1 || disorder.Key != "99" {
		t.Errorf("disorder is %#v of %v", disorder, err)
	}
}

// TestResourceErrors checks the fields of resources that are too small.
func TestResourceErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want ResourceError
	}{
		{&plan.MemoryError{Limit: 1, Least: 2, Text: "too little"},
			ResourceError{Option: "Resources.Memory", Available: 1, Needed: 2}},
		{plan.NoRoom([]string{"tmp"}, 30, 10, 5, false),
			ResourceError{Option: "Resources.TempDirs", Available: 10, Needed: 35}},
	} {
		err := publicErrors(fmt.Errorf("wrapped: %w", c.err))
		got, ok := errors.AsType[*ResourceError](err)
		c.want.text = c.err.Error()
		if !ok || *got != c.want {
			t.Errorf("%v is %+v, want %+v", c.err, got, c.want)
		}
	}
}

var errFailedRead = errors.New("the reader panics")

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic(errFailedRead) }

// TestSelections sorts by each selection that can be written, and compares the number of records.
func TestSelections(t *testing.T) {
	for _, c := range []struct {
		selection Selection
		want      string
	}{
		{nil, "aabccc"},
		{All(), "aabccc"},
		{First(0), ""},
		{First(2), "aa"},
		{All().First(9), "aabccc"},
		{First(3).First(5), "aab"},
		{Unique(KeepFirst), "abc"},
		{Unique(KeepLast).First(2), "ab"},
		{Counted(KeepFirst).First(1), "a\x02\x00\x00\x00\x00\x00\x00\x00"},
		{Duplicates(), "ac"},
		{Duplicates().First(1), "a"},
		{Positions(U32).First(1), "\x01\x00\x00\x00"},
		{Unique(KeepFirst).Positions(U32).First(1), "\x01\x00\x00\x00"},
		{Unique(KeepLast).Positions(U32).First(1), "\x05\x00\x00\x00"},
		{Duplicates().Positions(U64).First(1), "\x01\x00\x00\x00\x00\x00\x00\x00"},
	} {
		got, _, err := SortBytes(t.Context(), []byte("cabcca"), Job{Record: Record{Type: Bytes(1)}, Select: c.selection})
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.selection, got, err, c.want)
		}
	}
	shuffled, _, err := SortBytes(t.Context(), []byte("cabcca"), Job{Record: Record{Size: 1}, Select: Shuffled(1)})
	if err != nil || len(shuffled) != 6 {
		t.Errorf("shuffled: %q, %v", shuffled, err)
	}
}

// TestReports checks that every call reports what it did.
func TestReports(t *testing.T) {
	ctx := context.Background()
	record := Record{Type: U8}
	var calls int
	progress := func(Progress) { calls++ }

	_, report, err := SortBytes(ctx, []byte("cba"), Job{Record: record, Verify: true, Progress: progress})
	if err != nil || report.RecordsRead != 3 || report.BytesWritten != 3 || report.Summary.Records != 3 ||
		report.Elapsed <= 0 || len(report.Phases) == 0 || report.Forecast.Records != 3 {
		t.Errorf("sort: %+v, %v", report, err)
	}

	var iterated Report
	job := Job{Input: Input{Reader: strings.NewReader("cba")}, Record: record, Progress: progress}
	for _, err := range Records(ctx, job, &iterated) {
		if err != nil {
			t.Error(err)
		}
	}
	if iterated.RecordsWritten != 3 {
		t.Errorf("records: %+v", iterated)
	}

	merged, err := Merge(ctx, MergeJob{
		Input:    Input{Reader: strings.NewReader("abc")},
		Record:   record,
		Output:   Output{Writer: io.Discard},
		Progress: progress,
	})
	if err != nil || merged.RecordsWritten != 3 {
		t.Errorf("merge: %+v, %v", merged, err)
	}

	checked, err := Check(ctx, CheckJob{Input: Input{Reader: strings.NewReader("aab")}, Record: record, Unique: true,
		Progress: progress})
	if err != nil || checked.Disorder == nil || !checked.Disorder.Equal || checked.Disorder.Record != 1 {
		t.Errorf("check: %+v, %v", checked, err)
	}
	if calls < 4 {
		t.Errorf("%d calls of the progress function", calls)
	}
}

// TestTypes checks the strings of types.
func TestTypes(t *testing.T) {
	got := fmt.Sprint([]Type{U32.BigEndian(), U32.BigEndian().BigEndian(), U8.BigEndian(), Bytes(10),
		Bytes(4).BigEndian(), Type("f80").BigEndian(), Type("x").BigEndian()})
	if want := "[u32be u32be u8 bytes10 bytes4 f80be x]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
