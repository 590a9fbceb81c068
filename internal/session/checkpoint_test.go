package session

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/testfiles"
)

// keptSort returns the options of a sort with a checkpoint in new directories.
func keptSort(t *testing.T, k kind, data []byte, opt Options) Options {
	t.Helper()
	opt.Record, opt.Inputs = k.spec, []string{writeFile(t, data)}
	opt.Output = filepath.Join(t.TempDir(), "out")
	opt.Checkpoint = filepath.Join(t.TempDir(), "checkpoint")
	if opt.faults.chunkRecords == 0 {
		opt.faults.blockBytes, opt.faults.chunkRecords = 200, 40
	}
	return opt
}

// countedData counts the records read from a dataset.
type countedData struct {
	chunker.Dataset
	records *atomic.Int64
}

func (d countedData) Cut(maxRecords int64) (device.Source, error) {
	src, err := d.Dataset.Cut(maxRecords)
	if src == nil || err != nil {
		return nil, err
	}
	return countedSource{src, d.records}, nil
}

type countedSource struct {
	device.Source
	records *atomic.Int64
}

func (s countedSource) Next(most int, place func(int64, int) []byte) (int64, int, error) {
	first, n, err := s.Source.Next(most, place)
	s.records.Add(int64(n))
	return first, n, err
}

// interrupted repeats a sort and fails one operation of each attempt until an attempt succeeds. It
// returns the number of failures and the number of records read by all attempts.
func interrupted(t *testing.T, opt Options, failAt func() int64, vary func(*Options)) (failures int, read int64) {
	t.Helper()
	var records atomic.Int64
	for {
		in := &injector{failAt: failAt()}
		attempt, seams := opt, in.faults(false)
		seams.blockBytes, seams.chunkRecords, seams.spillStore = opt.faults.blockBytes, opt.faults.chunkRecords, nil
		wrap := seams.wrapDataset
		seams.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return countedData{wrap(d), &records} }
		attempt.faults = seams
		vary(&attempt)
		_, err := Sort(t.Context(), attempt)
		switch {
		case err == nil && (in.failed.Load() == nil || slices.Contains(closings, in.operation())):
			return failures, records.Load()
		case !errors.Is(err, errInjected):
			t.Fatalf("operation %d (%s) failed, the error is: %v", in.failAt, in.operation(), err)
		}
		failures++
	}
}

func checkKept(t *testing.T, opt Options, want []byte, what string) {
	t.Helper()
	got, err := os.ReadFile(opt.Output)
	if err != nil || !bytes.Equal(decompressed(t, got), want) {
		t.Errorf("%s: the output has %d bytes that are not those due, error %v", what, len(got), err)
	}
	if _, err := os.Stat(opt.Checkpoint); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: the checkpoint is still there: %v", what, err)
	}
	if left := testfiles.Names(t, filepath.Dir(opt.Output)); !slices.Equal(left, []string{"out"}) {
		t.Errorf("%s: beside the output there is %q", what, left)
	}
}

// TestCheckpointGoesOn repeatedly fails random operations of sorts with random options. The
// output equals that of an undisturbed sort.
func TestCheckpointGoesOn(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range effort(60) {
		k := kindNamed([]string{"u64", "gensort", "u8"}[r.IntN(3)])
		data := k.make(t, []string{"uniform", "few", "sorted"}[r.IntN(3)], 1+r.IntN(900), r)
		opt := keptSort(t, k, data, Options{
			Unique: r.IntN(5) == 0, Reverse: r.IntN(5) == 0, Verify: r.IntN(2) == 0,
			Strategy: []Strategy{Auto, MergeRuns}[r.IntN(2)], SpillCompress: []string{"none", "delta", "s2"}[r.IntN(3)],
			Compress: []string{"none", "none", "zstd"}[r.IntN(3)],
		})
		if r.IntN(4) == 0 {
			opt.Limit = 1 + r.Int64N(300)
		}
		what, attempts := describe(opt), int64(0)
		// A last merge may start over each time.
		failAt := func() int64 { attempts++; return r.Int64N(400 + 20*attempts) }
		failures, _ := interrupted(t, opt, failAt, func(o *Options) {
			o.Workers = 1 + r.IntN(4)
			o.BatchSize = []int{0, 0, 2, 3, 20}[r.IntN(5)]
			o.faults.chunkRecords = []int64{40, 40, 60, 200}[r.IntN(4)]
			o.faults.moreDevices = r.IntN(2)
		})
		checkKept(t, opt, reference(t, k.layout(t), data, opt), what)
		t.Logf("%s: %d failures", what, failures)
	}
}

// TestCheckpointReadsOnce interrupts a sort often. It reads again only the input that was in
// flight, and nothing once all runs exist.
func TestCheckpointReadsOnce(t *testing.T) {
	t.Parallel()
	const n, chunk, inFlight = 3000, 40, 3
	r := seeded(t)
	k := kindNamed("u64")
	data := k.make(t, "uniform", n, r)
	opt := keptSort(t, k, data, Options{Workers: 2, BatchSize: 20})
	attempts := 0
	failures, read := interrupted(t, opt, func() int64 { attempts++; return r.Int64N(30 + int64(attempts*attempts)) },
		func(*Options) {})
	checkKept(t, opt, reference(t, k.layout(t), data, opt), "uniform")
	if most := int64(n + failures*inFlight*chunk); read > most || failures < 10 {
		t.Errorf("%d records were read after %d failures, at most %d are due", read, failures, most)
	}
}

// failToRename sorts, and fails when the output would get its name.
func failToRename(t *testing.T, opt Options) {
	t.Helper()
	opt.faults.output = func(operation string) error {
		if operation == "rename output" {
			return errInjected
		}
		return nil
	}
	if _, err := Sort(t.Context(), opt); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
}

// cutOff returns a sort that failed just before it completed its output. So the checkpoint keeps
// all runs and most of the output.
func cutOff(t *testing.T, n int) (Options, []byte) {
	t.Helper()
	k := kindNamed("u64")
	data := k.make(t, "uniform", n, seeded(t))
	opt := keptSort(t, k, data, Options{Workers: 1})
	failToRename(t, opt)
	return opt, reference(t, k.layout(t), data, opt)
}

// TestCheckpointKeepsTheLastMerge checks that the output bytes that a checkpoint has are not
// written again, and that a plan says so.
func TestCheckpointKeepsTheLastMerge(t *testing.T) {
	t.Parallel()
	opt, want := cutOff(t, 3000)
	p, err := Plan(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Checkpoint
	if c.Runs < 10 || c.Records < 2900 || c.Written < 1000 || c.Folder != opt.Checkpoint || p.Strategy != MergeRuns {
		t.Errorf("the plan says %+v, strategy %s", c, p.Strategy)
	}
	var written atomic.Int64
	opt.faults.output = func(operation string) error {
		if operation == "write output" {
			written.Add(1)
		}
		return nil
	}
	report, err := Sort(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	checkKept(t, opt, want, "again")
	if report.Detail.BytesKept != 8*c.Records || report.Records != 3000 || report.RecordsOut != 3000 {
		t.Errorf("the report says %d bytes kept, %d records in, %d out",
			report.Detail.BytesKept, report.Records, report.RecordsOut)
	}
	if most := (3000-c.Written)/25 + 4; written.Load() > most {
		t.Errorf("the output was written %d times, of %d records", written.Load(), 3000-c.Written)
	}
}

// TestFailedResumeKeepsTheOutput fails a sort a second time before it has verified the output of the
// first process, which must stay.
func TestFailedResumeKeepsTheOutput(t *testing.T) {
	t.Parallel()
	for _, failing := range []string{"read output back", "reserve output"} {
		opt, want := cutOff(t, 3000)
		kept := keptFile(t, opt)
		opt.faults.output = func(operation string) error {
			if operation == failing {
				return errInjected
			}
			return nil
		}
		if _, err := Sort(t.Context(), opt); !errors.Is(err, errInjected) {
			t.Errorf("%s: the error is: %v", failing, err)
		}
		if left := keptFile(t, opt); kept == "" || left != kept {
			t.Errorf("%s: the output %q became %q", failing, kept, left)
		}
		opt.faults.output = nil
		if _, err := Sort(t.Context(), opt); err != nil {
			t.Errorf("%s: %v", failing, err)
		}
		checkKept(t, opt, want, failing)
	}
}

// TestCheckpointOfAnotherSort checks that a sort refuses the checkpoint of another sort, names
// the difference, and changes nothing.
func TestCheckpointOfAnotherSort(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(o *Options){
		"the layout was":           func(o *Options) { o.Reverse = true },
		"Options.Unique was false": func(o *Options) { o.Unique = true },
		"Options.Limit was 0":      func(o *Options) { o.Limit = 10 },
		"Options.Verify was":       func(o *Options) { o.Verify = true },
		"the output was":           func(o *Options) { o.Output += "2" },
		"Options.Sum was not given and is now total=0:u8:u64, most=0:u8": func(o *Options) {
			o.Unique = true
			o.Sum = []string{"total=0:u8:u64", "most=0:u8"}
		},
		"Options.Part was":             func(o *Options) { o.Part = partOf(0, 2) },
		"Options.Duplicates was false": func(o *Options) { o.Duplicates = true },
		"the split was not given and is now into 3 files": func(o *Options) {
			o.SplitFiles = 3
		},
		"its compression was": func(o *Options) { o.Compress = "zstd" },
		"of inputs was 1":     func(o *Options) { o.Inputs = append(o.Inputs, o.Inputs[0]) },
		"input ": func(o *Options) {
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(o.Inputs[0], later, later); err != nil {
				t.Error(err)
			}
		},
	} {
		opt, want := cutOff(t, 300)
		before, err := os.Stat(opt.Inputs[0])
		if err != nil {
			t.Fatal(err)
		}
		changed := opt
		changed.Inputs = slices.Clone(opt.Inputs)
		change(&changed)
		for _, run := range []func() error{
			func() error { _, err := Sort(t.Context(), changed); return err },
			func() error { _, err := Plan(t.Context(), changed); return err },
		} {
			err := run()
			if err == nil || !strings.Contains(err.Error(), "belongs to another sort: ") ||
				!strings.Contains(err.Error(), what) ||
				!strings.Contains(err.Error(), "remove the directory to start over") {
				t.Errorf("%s: the error is: %v", what, err)
			}
		}
		if err := os.Chtimes(opt.Inputs[0], before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if report, err := Sort(t.Context(), opt); err != nil || report.Detail.BytesKept == 0 {
			t.Errorf("%s: the sort cannot go on any more: %v", what, err)
		}
		checkKept(t, opt, want, what)
	}
}

// TestCheckpointIsLocked checks that a second process cannot use a checkpoint, not even to read it.
func TestCheckpointIsLocked(t *testing.T) {
	t.Parallel()
	opt, want := cutOff(t, 300)
	held, err := spill.OpenCheckpoint(t.Context(), opt.Checkpoint, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []func() error{
		func() error { _, err := Sort(t.Context(), opt); return err },
		func() error { _, err := Plan(t.Context(), opt); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), "another process uses it") {
			t.Errorf("the error is: %v", err)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	checkKept(t, opt, want, "again")
}

// TestCheckpointIsDamaged changes bytes of a checkpoint. The result is either an error with a
// remedy or the right bytes.
func TestCheckpointIsDamaged(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range effort(40) {
		opt, want := cutOff(t, 2000)
		files := testfiles.Names(t, opt.Checkpoint)
		name := filepath.Join(opt.Checkpoint, files[r.IntN(len(files))])
		damage(t, name, r)
		_, err := Sort(t.Context(), opt)
		if err == nil {
			checkKept(t, opt, want, name)
			continue
		}
		if text := err.Error(); !strings.Contains(text, "damaged") || !strings.Contains(text, "remove the directory") {
			t.Errorf("%s: the error is: %v", name, err)
		}
	}
}

// keptFile returns the file that the last merge of a sort wrote to; "": none is kept.
func keptFile(t *testing.T, opt Options) string {
	t.Helper()
	for _, name := range testfiles.Names(t, filepath.Dir(opt.Output)) {
		if strings.Contains(name, ".extsort-") {
			return filepath.Join(filepath.Dir(opt.Output), name)
		}
	}
	return ""
}

// TestKeptOutputIsDamaged truncates the unfinished output in a checkpoint, changes its bytes, and
// replaces its files. The final output always has the right bytes: damaged parts are written
// again, and the others are kept.
func TestKeptOutputIsDamaged(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	flip := func(at, n int) func(*testing.T, string, []byte) error {
		return func(_ *testing.T, name string, content []byte) error {
			changed := slices.Clone(content)
			for i := at; i < at+n; i++ {
				changed[i] ^= byte(1 + r.IntN(255))
			}
			return os.WriteFile(name, changed, 0o600)
		}
	}
	type attack struct {
		what  string
		do    func(t *testing.T, name string, content []byte) error
		whole bool // everything is written again, without a message
	}
	cut := func(size int64) func(*testing.T, string, []byte) error {
		return func(_ *testing.T, name string, _ []byte) error { return os.Truncate(name, size) }
	}
	var victim string
	attacks := []attack{
		{"nothing", func(*testing.T, string, []byte) error { return nil }, false},
		{"removed", func(_ *testing.T, name string, _ []byte) error { return os.Remove(name) }, true},
		{"a copy", func(_ *testing.T, name string, content []byte) error {
			return errors.Join(os.Remove(name), os.WriteFile(name, content, 0o644), os.Chmod(name, 0o644))
		}, false},
		{"zeros", func(_ *testing.T, name string, content []byte) error {
			return errors.Join(os.Truncate(name, 0), os.Truncate(name, int64(len(content))))
		}, false},
		{"a link", func(t *testing.T, name string, content []byte) error {
			victim = filepath.Join(t.TempDir(), "victim")
			return errors.Join(os.WriteFile(victim, content, 0o644), os.Remove(name), os.Symlink(victim, name))
		}, true},
		{"another name", func(t *testing.T, name string, content []byte) error {
			victim = filepath.Join(filepath.Dir(filepath.Dir(name)), "victim")
			return os.Link(name, victim)
		}, true},
		{"stretches swapped", func(_ *testing.T, name string, content []byte) error {
			return os.WriteFile(name, slices.Concat(content[320:640], content[:320], content[640:]), 0o600)
		}, false},
	}
	for range effort(12) {
		size := 8 * int64(3000)
		at := r.Int64N(size)
		attacks = append(attacks,
			attack{fmt.Sprint("cut at ", at), cut(at), false},
			attack{fmt.Sprint("changed at ", at), flip(int(at), 1), false},
			attack{fmt.Sprint("much changed from ", at), flip(int(at), int(min(size-at, 1+r.Int64N(5000)))), false})
	}
	for _, a := range attacks {
		opt, want := cutOff(t, 3000)
		victim = ""
		name := keptFile(t, opt)
		content, err := os.ReadFile(name)
		if err = errors.Join(err, a.do(t, name, content)); err != nil {
			t.Fatal(err)
		}
		var before []byte
		if victim != "" {
			before, _ = os.ReadFile(victim)
		}
		var warnings []string
		opt.Warn = func(message string) { warnings = append(warnings, message) }
		report, err := Sort(t.Context(), opt)
		if err != nil || report.RecordsOut != 3000 {
			t.Errorf("%s: the report says %+v, %v", a.what, report, err)
		}
		checkKept(t, opt, want, a.what)
		if victim != "" {
			if after, err := os.ReadFile(victim); !bytes.Equal(before, after) {
				t.Errorf("%s: another file was written to: %v", a.what, err)
			}
			os.Remove(victim)
		}
		for _, warning := range warnings {
			expected := !a.whole && a.what != "nothing" && a.what != "a copy"
			if !expected || !strings.Contains(warning, "is damaged and is written again") {
				t.Errorf("%s: the warning is %q", a.what, warning)
			}
		}
		if a.what == "zeros" && len(warnings) != 1 {
			t.Errorf("%s: the warnings are %q", a.what, warnings)
		}
	}
}

// TestKeptOutputOfOtherRecords damages the unfinished output of sorts whose output differs from
// the sorted input records. Verification checks the records in the file.
func TestKeptOutputOfOtherRecords(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for what, change := range map[string]func(o *Options){
		"argsort": func(o *Options) { o.Argsort = "u64" },
		"limit":   func(o *Options) { o.Limit = 2500 },
		"reverse": func(o *Options) { o.Reverse = true },
	} {
		kept := 0
		// A row may end before its output is entered.
		for tries := 0; tries < 100 && kept < effort(8); tries++ {
			k := kindNamed("u64")
			opt := keptSort(t, k, k.make(t, "uniform", 3000, r), Options{Workers: 1 + r.IntN(3)})
			change(&opt)
			plain := opt
			plain.Checkpoint, plain.Output = "", filepath.Join(t.TempDir(), "plain")
			if _, err := Sort(t.Context(), plain); err != nil {
				t.Fatal(err)
			}
			want := testfiles.Read(t, plain.Output)
			failToRename(t, opt)
			if name := keptFile(t, opt); name != "" {
				kept++
				damage(t, name, r)
			}
			if _, err := Sort(t.Context(), opt); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			checkKept(t, opt, want, what)
		}
		if kept == 0 {
			t.Errorf("%s: no output was kept", what)
		}
	}
}

func damage(t *testing.T, name string, r *rand.Rand) {
	t.Helper()
	content := testfiles.Read(t, name)
	for range 1 + r.IntN(200) {
		if len(content) > 0 {
			content[r.IntN(len(content))] ^= byte(1 + r.IntN(255))
		}
	}
	testfiles.Write(t, name, content)
}

// TestCheckpointOfNothing checks that a sort in one chunk, and a sort that fails before its first
// run, leave no checkpoint directory.
func TestCheckpointOfNothing(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := k.make(t, "uniform", 30, seeded(t))
	opt := keptSort(t, k, data, Options{})
	if report, err := Sort(t.Context(), opt); err != nil || report.Strategy != InCore {
		t.Fatal(report, err)
	}
	checkKept(t, opt, reference(t, k.layout(t), data, opt), "in core")
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
		return &faultDataset{d, &injector{failAt: 1}}
	}
	if err := os.Mkdir(opt.Checkpoint, 0o700); err != nil { // an empty directory is allowed
		t.Fatal(err)
	}
	if _, err := Sort(t.Context(), opt); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	checkKept(t, opt, reference(t, k.layout(t), data, opt), "failed")
}

// endedEarly lists sorts that end when the output has its name but the checkpoint directory still
// exists.
var endedEarly = map[string]func(o *Options){
	"new":        func(*Options) {},
	"in place":   func(o *Options) { o.Inputs = []string{o.Output} },
	"reversed":   func(o *Options) { o.Reverse, o.Verify = true, true },
	"unique":     func(o *Options) { o.Unique = true },
	"limited":    func(o *Options) { o.Inputs, o.Limit = []string{o.Output}, 7 },
	"compressed": func(o *Options) { o.Inputs, o.Compress = []string{o.Output}, "zstd" },
}

// endEarly returns a sort that ended like this, with its checkpoint in the state after a kill, and
// the expected output.
func endEarly(t *testing.T, k kind, n int, change func(o *Options)) (opt Options, want []byte) {
	t.Helper()
	data := k.make(t, "few", n, seeded(t))
	opt = keptSort(t, k, data, Options{Workers: 1})
	if change(&opt); opt.Inputs[0] == opt.Output {
		testfiles.Write(t, opt.Output, data)
	}
	asItIs := filepath.Join(t.TempDir(), "checkpoint")
	opt.faults.output = func(operation string) error {
		if operation == "sync directory" {
			return errors.Join(errInjected, copyCheckpoint(asItIs, opt.Checkpoint))
		}
		return nil
	}
	if _, err := Sort(t.Context(), opt); !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(opt.Checkpoint), os.Rename(asItIs, opt.Checkpoint)); err != nil {
		t.Fatal(err)
	}
	opt.faults.output = nil
	return opt, reference(t, k.layout(t), data, opt)
}

// copyCheckpoint copies the folder of a checkpoint as a kill would leave it. Runs are added in the
// background, so it copies again if the manifest has changed meanwhile.
func copyCheckpoint(to, folder string) error {
	for range 1000 {
		before, _ := os.ReadFile(filepath.Join(folder, "manifest"))
		copied := os.CopyFS(to, os.DirFS(folder))
		after, _ := os.ReadFile(filepath.Join(folder, "manifest"))
		if copied == nil && bytes.Equal(before, after) {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	return fmt.Errorf("checkpoint %s changes all the time", folder)
}

// TestCheckpointOfCompleteOutput checks that the same command only removes the checkpoint if the
// output already has its name.
func TestCheckpointOfCompleteOutput(t *testing.T) {
	t.Parallel()
	for name, change := range endedEarly {
		for _, k := range []kind{kindNamed("u64"), kindNamed("gensort")} {
			for _, n := range []int{1, 300} {
				opt, want := endEarly(t, k, n, change)
				p, err := Plan(t.Context(), opt)
				if err != nil || !p.Checkpoint.Complete {
					t.Fatalf("%s: the plan says %+v, %v", name, p, err)
				}
				var warnings []string
				opt.Warn = func(message string) { warnings = append(warnings, message) }
				opt.faults.output = func(string) error { return errInjected } // the sort must not open anything
				report, err := Sort(t.Context(), opt)
				if err != nil || report.Records != 0 || report.Verified != opt.Verify {
					t.Fatalf("%s: the report says %+v, %v", name, report, err)
				}
				if len(warnings) != 1 || !strings.Contains(warnings[0], "has completed output "+opt.Output) {
					t.Errorf("%s: the warnings are %q", name, warnings)
				}
				checkKept(t, opt, want, name)
			}
		}
	}
}

// TestCheckpointOfAnotherOutput checks that a file under the output's name is not mistaken for
// the output if it is incomplete or belongs to another sort.
func TestCheckpointOfAnotherOutput(t *testing.T) {
	t.Parallel()
	touch := func(name string) error { return os.Chtimes(name, time.Now(), time.Now().Add(time.Hour)) }
	for what, c := range map[string]struct {
		sort    string
		change  func(o *Options) error
		refused string // "": the sort starts over
	}{
		"written to":    {"new", func(o *Options) error { return touch(o.Output) }, ""},
		"gone":          {"unique", func(o *Options) error { return os.Remove(o.Output) }, ""},
		"shorter":       {"new", func(o *Options) error { return os.Truncate(o.Output, 8) }, ""},
		"input":         {"new", func(o *Options) error { return touch(o.Inputs[0]) }, "input "},
		"as an input":   {"in place", func(o *Options) error { return touch(o.Output) }, "input "},
		"with an order": {"in place", func(o *Options) error { o.Reverse = true; return nil }, "the layout was"},
	} {
		opt, want := endEarly(t, kindNamed("u64"), 300, endedEarly[c.sort])
		if err := c.change(&opt); err != nil {
			t.Fatal(err)
		}
		report, err := Sort(t.Context(), opt)
		if c.refused == "" {
			if err != nil || report.RecordsOut != int64(len(want)/8) {
				t.Errorf("%s: the report says %+v, %v", what, report, err)
			}
			checkKept(t, opt, want, what)
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "it belongs to another sort: "+c.refused) {
			t.Errorf("%s: the error is: %v", what, err)
		}
		if _, err := os.Stat(opt.Checkpoint); err != nil {
			t.Errorf("%s: the checkpoint is gone: %v", what, err)
		}
	}
}

// TestFieldsText checks that different lists of fields have different texts.
func TestFieldsText(t *testing.T) {
	lists := [][]string{nil, {"not given"}, {"a", "b"}, {"a, b"}, {`"a`, `b"`}, {`"a, b"`}, {`a\`}, {""}}
	seen := map[string][]string{}
	for _, list := range lists {
		text := fieldsText(list)
		if other, ok := seen[text]; ok {
			t.Errorf("%q and %q: both have the text %s", list, other, text)
		}
		seen[text] = list
	}
}
