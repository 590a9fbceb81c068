package extsort

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/testfiles"
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

// TestJobsAreChecked lists jobs that are refused before anything is read or written, with the
// fields that their errors name. In particular, a job without an input or an output never uses the
// standard streams.
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
		"key name": {
			func(j *Job) { j.Record.Keys = []KeyField{{Name: "x", Type: U8}} },
			"Record.Keys[0] has a Name",
		},
		"computed key": {
			func(j *Job) { j.Record.Keys = []KeyField{{Compute: "hilbert(0:u8,1:u8)", Type: U8}} },
			"Record.Keys[0] has a Compute, which replaces Offset, Type and Name",
		},
		"key function": {
			func(j *Job) { j.Record.Keys = []KeyField{{Compute: "hilbert"}} },
			`Record.Keys[0].Compute "hilbert": want FUNCTION(FIELD,FIELD)`,
		},
		"NaN": {
			func(j *Job) { j.Record = Record{Type: F64, NumericFloats: true, NaN: "up"} },
			"Record.NaN",
		},
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

// TestAllFaultsAtOnce lists jobs with several invalid fields. All of them are reported together,
// each as an error with its field, whether this package, the session or the format finds it.
func TestAllFaultsAtOnce(t *testing.T) {
	for _, c := range []struct {
		job  Job
		want string // the fields, sorted
	}{
		{
			Job{Record: Record{Type: "u65"}, Resources: Resources{Workers: -1, DeviceMemory: -1}},
			"Input Output Record.Type Resources.DeviceMemory Resources.Workers",
		},
		{
			Job{
				Input: Input{Reader: panicking{}},
				Record: Record{Size: 4, NaN: "up", Keys: []KeyField{
					{Offset: 2, Type: U32},
					{Type: "u65"},
					{Offset: -1},
					{Name: "mass", Type: U8},
				}},
				Select: First(-1),
				Output: Output{SplitFiles: -1, Compression: "zip"},
				Tuning: Tuning{Strategy: "bubble"},
			},
			"Output Output.Compression Output.Path Record Record.Keys[1].Type none " +
				"Record.Keys[2].Offset Record.Keys[2].Type Record.Keys[3] Record.NaN Select Tuning.Strategy",
		},
		{
			Job{
				Input: Input{
					Paths:       []string{"", "-"},
					Part:        Part{5, 3},
					HeaderBytes: -1,
					Records:     -4,
					Compression: "x",
				},
				Record:     Record{Format: "npx", Size: -3},
				Output:     Output{Writer: io.Discard},
				Checkpoint: "kept",
				Resources:  Resources{TempDirs: []string{"tmp"}},
				Tuning:     Tuning{Strategy: StrategyReread},
			},
			"Checkpoint Checkpoint Checkpoint Checkpoint Input.Compression Input.HeaderBytes Input.Part " +
				"Input.Paths[0] Input.Paths[1] Input.Records Record.Size none",
		},
	} {
		_, err := Sort(t.Context(), c.job)
		var fields []string
		for _, err := range flattened(err) {
			if o, ok := errors.AsType[*OptionError](err); ok {
				fields = append(fields, cmp.Or(o.Option, "none"))
			} else {
				t.Errorf("%v is not an OptionError", err)
			}
		}
		want := strings.Fields(c.want)
		slices.Sort(want)
		slices.Sort(fields)
		if !slices.Equal(fields, want) {
			t.Errorf("the fields of %v are\n%s, want\n%s", err, fields, want)
		}
	}
}

// flattened returns all errors that were joined.
func flattened(err error) (all []error) {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, err := range several.Unwrap() {
		all = append(all, flattened(err)...)
	}
	return all
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
	want := PartialRecordError{File: "upload", Offset: 8, Bytes: 2, RecordSize: 4, text: err.Error()}
	if !ok || *partial != want || partial.Error() != err.Error() {
		t.Errorf("a partial record is %#v of %v", partial, err)
	}
	if !strings.Contains(err.Error(), "Record.Size") || !strings.Contains(err.Error(), "Input.HeaderBytes") {
		t.Errorf("%v does not name the fields of a job", err)
	}

	_, _, err = SortBytes(t.Context(), make([]byte, 9), Job{Record: Record{Type: U64}})
	if err == nil || !strings.HasPrefix(err.Error(), "the slice: ") {
		t.Errorf("9 bytes of u64: %v", err)
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

// TestFileErrors lists files that cannot be used. errors.As finds the file, and errors.Is the
// reason.
func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	testfiles.Write(t, input, make([]byte, 20<<20))
	missing := filepath.Join(dir, "missing")
	below := filepath.Join(input, "below") // a path below a file, which is not a directory
	closed := testfiles.Create(t, filepath.Join(dir, "closed"))
	closed.Close()

	spilling := Resources{Memory: MinMemory, TempDirs: []string{missing}}
	for name, c := range map[string]struct {
		change func(j *Job)
		path   string
		reason error
	}{
		"missing input": {func(j *Job) { j.Input.Paths = []string{missing} }, missing, fs.ErrNotExist},
		"missing source": {
			func(j *Job) { j.Input = Input{Sources: []Source{{Path: missing}}} },
			missing,
			fs.ErrNotExist,
		},
		"input below":     {func(j *Job) { j.Input.Paths = []string{below} }, below, syscall.ENOTDIR},
		"input directory": {func(j *Job) { j.Input.Paths = []string{dir} }, dir, syscall.EISDIR},
		"output directory missing": {
			func(j *Job) { j.Output = Output{Path: filepath.Join(missing, "out")} },
			filepath.Join(missing, "out"), fs.ErrNotExist,
		},
		"split directory missing": {
			func(j *Job) { j.Output = Output{Path: filepath.Join(missing, "out"), SplitFiles: 2} },
			filepath.Join(missing, "out.index"), fs.ErrNotExist,
		},
		"output directory": {func(j *Job) { j.Output = Output{Path: dir} }, dir, syscall.EISDIR},
		"output below":     {func(j *Job) { j.Output = Output{Path: below} }, below, syscall.ENOTDIR},
		"output full":      {func(j *Job) { j.Output = Output{Path: "/dev/full"} }, "/dev/full", syscall.ENOSPC},
		"output closed":    {func(j *Job) { j.Output = Output{Writer: closed} }, closed.Name(), fs.ErrClosed},
		"temporary directory missing": {
			func(j *Job) { j.Resources, j.Tuning.Strategy = spilling, StrategyMerge }, missing, fs.ErrNotExist,
		},
		"checkpoint below": {
			func(j *Job) { j.Checkpoint, j.Output = below, Output{Path: filepath.Join(dir, "out")} },
			below, syscall.ENOTDIR,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("/dev/full"); c.path == "/dev/full" && err != nil {
				t.Skip("this system has no /dev/full")
			}
			job := Job{
				Input:  Input{Paths: []string{input}},
				Record: Record{Type: U32},
				Output: Output{Writer: io.Discard},
			}
			c.change(&job)
			_, err := Sort(t.Context(), job)
			file, ok := errors.AsType[*fs.PathError](err)
			if !ok || file.Op == "" || !strings.HasPrefix(file.Path, c.path) || !errors.Is(err, c.reason) {
				t.Errorf("the error %v is about %+v, want %s and %v", err, file, c.path, c.reason)
			}
		})
	}
}

var errOfCaller = errors.New("the caller does not want to go on")

// faulty implements every interface that a job can contain. One of its methods fails or panics.
type faulty struct {
	method string
	panics bool
}

func (f faulty) fail(method string) error {
	switch {
	case method != f.method:
		return nil
	case f.panics:
		panic(errOfCaller)
	}
	return errOfCaller
}

func (f faulty) Read(p []byte) (int, error) {
	if err := f.fail("Read"); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

func (f faulty) ReadAt(p []byte, _ int64) (int, error) {
	if err := f.fail("ReadAt"); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f faulty) Write(p []byte) (int, error) { return len(p), f.fail("Write") }

func (f faulty) Commit(context.Context) error { return f.fail("Commit") }

func (f faulty) Abort() error { return f.fail("Abort") }

func (f faulty) Progress(Progress) { f.fail("Progress") }

func (f faulty) Enabled(context.Context, slog.Level) bool { return true }

func (f faulty) Handle(context.Context, slog.Record) error { return f.fail("Logger") }

func (f faulty) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f faulty) WithGroup(string) slog.Handler { return f }

// TestFunctionsOfTheCaller lists functions of the caller that fail or panic. errors.Is finds the
// caller's own error, and a panic is that of a named function, not a bug.
func TestFunctionsOfTheCaller(t *testing.T) {
	broken := errors.New("the input is broken")
	for _, c := range []struct {
		method string
		change func(j *Job, f faulty)
		want   string // PanicError.Function
	}{
		{"Read", func(j *Job, f faulty) { j.Input = Input{Reader: f} }, "Read of Input.Reader"},
		{"Read", func(j *Job, f faulty) {
			j.Input = Input{Sources: []Source{{Name: "upload", Reader: f}}}
		}, "Read of Input.Sources[0]"},
		{"ReadAt", func(j *Job, f faulty) {
			j.Input = Input{Sources: []Source{{ReaderAt: f, Size: 400}}}
		}, "ReadAt of Input.Sources[0]"},
		{"Write", func(j *Job, f faulty) { j.Output = Output{Writer: f} }, "Write of Output.Writer"},
		{"Write", func(j *Job, f faulty) { j.Output = Output{Sink: f} }, "Write of Output.Sink"},
		{"Commit", func(j *Job, f faulty) { j.Output = Output{Sink: f} }, "Commit of Output.Sink"},
		{"Abort", func(j *Job, f faulty) {
			j.Input = Input{Reader: iotest.ErrReader(broken)}
			j.Output = Output{Sink: f}
		}, "Abort of Output.Sink"},
		{"Progress", func(j *Job, f faulty) { j.Progress = f.Progress }, "Progress"},
		{"Logger", func(j *Job, f faulty) { // a warning: the directory for temporary files is in memory
			j.Logger = slog.New(f)
			j.Resources = Resources{Memory: MinMemory, TempDirs: []string{"/dev/shm"}}
			j.Tuning.Strategy = StrategyMerge
			j.Input = Input{Reader: bytes.NewReader(make([]byte, 20<<20))}
		}, "Logger"},
	} {
		for _, panics := range []bool{false, true} {
			job := Job{
				Input:  Input{Reader: strings.NewReader("dcba")},
				Record: Record{Type: U32},
				Output: Output{Writer: io.Discard},
			}
			c.change(&job, faulty{c.method, panics})
			_, err := Sort(t.Context(), job)
			if !panics {
				returnsNothing := c.method == "Progress" || c.method == "Logger"
				if !returnsNothing && !errors.Is(err, errOfCaller) {
					t.Errorf("%s: the error is %v", c.want, err)
				}
				continue
			}
			if _, err := os.Stat("/dev/shm"); c.method == "Logger" && err != nil {
				continue
			}
			panicked, ok := errors.AsType[*PanicError](err)
			if !ok || panicked.Function != c.want || panicked.Value != any(
				errOfCaller,
			) || !errors.Is(err, errOfCaller) ||
				!strings.Contains(err.Error(), c.want+" panicked: "+errOfCaller.Error()) ||
				strings.Contains(err.Error(), "internal error") || !bytes.Contains(panicked.Stack, []byte("faulty")) {
				t.Errorf("%s: a panic is %v, from %+v", c.want, err, panicked)
			}
		}
	}
}

// A badCount is a function of the caller that returns a number of bytes that its interface does not
// permit, and no error.
type badCount struct{ more int }

func (b badCount) Read(p []byte) (int, error)            { return b.count(p) }
func (b badCount) ReadAt(p []byte, _ int64) (int, error) { return b.count(p) }
func (b badCount) Write(p []byte) (int, error)           { return b.count(p) }
func (b badCount) Commit(context.Context) error          { return nil }
func (b badCount) Abort() error                          { return nil }

func (b badCount) count(p []byte) (int, error) {
	if b.more < -1 {
		return -1, nil
	}
	return len(p) + b.more, nil
}

// TestCountsOfTheCaller lists readers and writers that return a wrong number of bytes. A short
// write would lose records.
func TestCountsOfTheCaller(t *testing.T) {
	for _, more := range []int{-2, -1, 1} {
		bad := badCount{more}
		for want, change := range map[string]func(j *Job){
			"Read of Input.Reader": func(j *Job) { j.Input = Input{Reader: bad} },
			"ReadAt of Input.Sources[0]": func(j *Job) {
				j.Input = Input{Sources: []Source{{ReaderAt: bad, Size: 400}}}
			},
			"Write of Output.Writer": func(j *Job) { j.Output = Output{Writer: bad} },
			"Write of Output.Sink":   func(j *Job) { j.Output = Output{Sink: bad} },
		} {
			if more == -1 && strings.HasPrefix(want, "Read of") {
				continue // a reader may return fewer bytes
			}
			job := Job{
				Input:  Input{Reader: strings.NewReader("dcba")},
				Record: Record{Type: U32},
				Output: Output{Writer: io.Discard},
			}
			change(&job)
			_, err := Sort(t.Context(), job)
			if err == nil || !strings.Contains(err.Error(), want+" returned ") {
				t.Errorf("%s with %d bytes more: %v", want, more, err)
			}
		}
	}
}

// failingOutput is an output.Output whose device is full.
type failingOutput struct{ aborted bool }

func (*failingOutput) Write([]byte) (int, error)           { return 0, errOfCaller }
func (*failingOutput) Commit(context.Context, int64) error { return nil }
func (f *failingOutput) Abort() error                      { f.aborted = true; return nil }

// TestCommitAfterFailedWrite commits a file in which bytes are missing.
func TestCommitAfterFailedWrite(t *testing.T) {
	out := &failingOutput{}
	sink := &fileSink{Output: out}
	sink.Write([]byte("lost"))
	if err := sink.Commit(t.Context()); !errors.Is(err, errOfCaller) || !out.aborted {
		t.Errorf("%v, aborted: %t", err, out.aborted)
	}
}

// TestLoopPanics checks that a panic in the body of a loop over Records reaches the caller
// unchanged.
func TestLoopPanics(t *testing.T) {
	defer func() {
		if value := recover(); value != any(errOfCaller) {
			t.Errorf("the caller recovers %v", value)
		}
	}()
	job := Job{Input: Input{Reader: strings.NewReader("dcba")}, Record: Record{Type: U8}}
	for range Records(t.Context(), job, nil) {
		panic(errOfCaller)
	}
	t.Error("the loop has ended")
}

// TestResourceErrors checks the fields of resources that are too small.
func TestResourceErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want ResourceError
	}{
		{&plan.MemoryError{Limit: 1, Least: 2, Text: "too little"},
			ResourceError{Option: "Resources.Memory", Available: 1, Needed: 2}},
		{plan.NewRoomError([]string{"tmp"}, 30, 10, 5, false),
			ResourceError{Option: "Resources.TempDirs", Available: 10, Needed: 35}},
	} {
		err := publicErrors(fmt.Errorf("wrapped: %w", c.err))
		got, ok := errors.AsType[*ResourceError](err)
		c.want.text = c.err.Error()
		if !ok || *got != c.want || got.Error() != c.err.Error() {
			t.Errorf("%v is %+v, want %+v", c.err, got, c.want)
		}
	}
}

// panicking is a Reader that panics: the tests must not read it.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("the input was read") }

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
		got, _, err := SortBytes(
			t.Context(),
			[]byte("cabcca"),
			Job{Record: Record{Type: Bytes(1)}, Select: c.selection},
		)
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q, %v, want %q", c.selection, got, err, c.want)
		}
	}
	shuffled, _, err := SortBytes(t.Context(), []byte("cabcca"), Job{Record: Record{Size: 1}, Select: Shuffled(1)})
	if err != nil || len(shuffled) != 6 {
		t.Errorf("shuffled: %q, %v", shuffled, err)
	}
}

// TestCombine combines fields by a sort and by a merge of a job.
func TestCombine(t *testing.T) {
	record := Record{Size: 3, Keys: []KeyField{{Type: U8}}}
	fields := Fields{Sum: []string{"1:u8"}, Max: []string{"top=1:u8"}, Last: []string{"2:u8"}, Count: true}
	selection := Unique(KeepFirst).Combine(fields).First(2)
	const want = "a\x05z\x03\x02\x00\x00\x00\x00\x00\x00\x00" + "b\x04p\x04\x01\x00\x00\x00\x00\x00\x00\x00"
	got, _, err := SortBytes(t.Context(), []byte("b\x04pa\x02yc\x01pa\x03z"), Job{Record: record, Select: selection})
	if err != nil || string(got) != want {
		t.Errorf("sort: %q, %v", got, err)
	}

	var merged bytes.Buffer
	_, err = Merge(t.Context(), MergeJob{
		Input: Input{Sources: []Source{
			{Reader: strings.NewReader("a\x02yb\x04p")},
			{Reader: strings.NewReader("a\x03zc\x01p")},
		}},
		Record: record,
		Select: selection,
		Output: Output{Writer: &merged},
	})
	if err != nil || merged.String() != want {
		t.Errorf("merge: %q, %v", merged.String(), err)
	}

	for _, c := range []struct {
		selection Selection
		want      string
	}{
		{All().Combine(fields), "Select.Sum, Select.Min, Select.Max, Select.First and Select.Last need Select.Unique"},
		{Unique(KeepFirst).Combine(Fields{Sum: []string{"1:u8:u16"}}), "Select.Sum 1:u8:u16: a sum of another type"},
		{Unique(KeepFirst).Combine(Fields{Sum: []string{"0:u8"}}), "Select.Sum 0:u8: is a part of the key"},
	} {
		_, _, err := SortBytes(t.Context(), []byte("a\x02y"), Job{Record: record, Select: c.selection})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestReports checks the report of every call.
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
	for _, pair := range [][2]*Summary{{&checked.Summary, {}}, {{}, &checked.Summary}} {
		if err := pair[0].Append(pair[1]); err == nil {
			t.Errorf("%+v with %+v appended: no error", pair[0], pair[1])
		}
	}
	if calls < 4 {
		t.Errorf("%d calls of the progress function", calls)
	}
}

// TestTypes checks the strings of types.
func TestTypes(t *testing.T) {
	for _, typ := range []Type{U32 + "be", Bytes(10), "u24", "f80", "i128be", "ucs4"} {
		_, _, err := SortBytes(t.Context(), nil, Job{Record: Record{Size: 16, Keys: []KeyField{{Type: typ}}}})
		if err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
}
