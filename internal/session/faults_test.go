package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// faultCase is a sort in which every operation fails once.
type faultCase struct {
	name string
	opt  Options
	data []byte // input data, in a file or in standard input
	pipe bool
	want []byte
	run  func(context.Context, Options) (*Report, error)
}

// faultCases go through every strategy and every kind of output.
func faultCases(t *testing.T) []faultCase {
	r := seeded(t)
	words, wide := kindNamed("u64"), kindNamed("gensort")
	n := 150
	few, many := words.make(t, "few", n, r), wide.make(t, "uniform", n, r)
	sorted := reference(t, words.layout(t), few, Options{})
	sosd := format.Spec{Format: "sosd", Type: "u64"}
	distinct := reference(t, words.layout(t), few, Options{Unique: true})
	cases := []faultCase{
		{name: "in core", opt: Options{Record: words.spec, Verify: true}, data: few, want: sorted},
		{name: "merge", opt: Options{Record: words.spec, Strategy: MergeRuns, BatchSize: 2}, data: few, want: sorted},
		{name: "merge of differences", opt: Options{Record: words.spec, Strategy: MergeRuns, SpillCompress: "delta"},
			data: few, want: sorted},
		{name: "merge of a pipe", opt: Options{Record: wide.spec, SpillCompress: "s2"}, pipe: true, data: many,
			want: reference(t, wide.layout(t), many, Options{})},
		{name: "partition", opt: Options{Record: wide.spec, Strategy: Partition}, data: many,
			want: reference(t, wide.layout(t), many, Options{})},
		{name: "partition of few keys", opt: Options{Record: words.spec, Strategy: Partition, Verify: true, Unique: true},
			data: few, want: distinct},
		{name: "zstd", opt: Options{Record: words.spec, Compress: "zstd"}, data: few, want: sorted},
		{name: "s2", opt: Options{Record: words.spec, Compress: "s2"}, data: few, want: sorted},
		{name: "gzip", opt: Options{Record: words.spec, Compress: "gzip"}, data: few, want: sorted},
		{name: "header at the end", opt: Options{Record: sosd, Unique: true, Compress: "s2"}, data: sosdFile(few),
			want: sosdFile(distinct)},
		{name: "spread", opt: onDevices(Options{Record: words.spec}, 2), data: few, want: sorted},
		{name: "merge of files", opt: Options{Record: words.spec}, data: sorted, want: sorted, run: mergeAs},
	}
	cases = append(cases, setFaultCases(t)...)
	for i := range cases {
		c := &cases[i]
		c.opt.Workers = 2
		c.opt.faults.blockBytes = 200
		c.opt.faults.chunkRecords = 40
		if c.name == "in core" || c.name == "spread" {
			c.opt.faults.chunkRecords = 0
		}
		if c.run == nil {
			c.run = Sort
		}
	}
	return cases
}

// maxOperations is far above the number of operations of all cases. A case that exceeds it hangs.
const maxOperations = 2000

// TestFaultsExhaustively fails operation 0, 1, 2 … of a sort until the sort succeeds; short tests
// fail every third. After each failure the old output is unchanged, no other file is left, and no
// goroutine is running.
func TestFaultsExhaustively(t *testing.T) {
	for _, c := range faultCases(t) {
		t.Run(c.name, func(t *testing.T) { c.failEach(t, false) })
	}
}

// TestPanicsExhaustively makes operation 0, 1, 2 … panic instead, in any goroutine. Sort returns
// the panic as an error with its stack. Operations that close files are left out: after a panic a
// file may stay open.
func TestPanicsExhaustively(t *testing.T) {
	for _, c := range faultCases(t) {
		t.Run(c.name, func(t *testing.T) { c.failEach(t, true) })
	}
}

func (c *faultCase) failEach(t *testing.T, panics bool) {
	t.Helper()
	seen := map[string]bool{}
	for failAt := int64(0); ; failAt += int64(3 / effort(3)) {
		if failAt >= maxOperations {
			t.Fatalf("no end after %d operations", failAt)
		}
		in := &injector{failAt: failAt, panics: panics}
		err := c.attempt(t, in, failAt%2 == 0 && runtime.GOOS == "linux")
		operation := in.failed.Load()
		if err == nil && operation == nil {
			break
		}
		panicked, ok := errors.AsType[*PanicError](err)
		if panics && (!ok || !bytes.Contains(panicked.Stack, []byte("step"))) {
			t.Fatalf("operation %d (%s) panicked, and the error is %v", failAt, in.operation(), err)
		}
		seen[in.operation()] = true
	}
	if len(seen) < 5 {
		t.Errorf("only %v failed: are the seams in use?", seen)
	}
}

// attempt runs the case once in new directories and checks the files that it leaves.
func (c *faultCase) attempt(t *testing.T, in *injector, unnamed bool) error {
	t.Helper()
	outDir, tempDir := t.TempDir(), t.TempDir()
	opt := c.opt
	opt.Output, opt.TempDirs = filepath.Join(outDir, "out"), []string{tempDir}
	seams := in.faults(unnamed)
	seams.blockBytes = opt.faults.blockBytes
	seams.chunkRecords = opt.faults.chunkRecords
	seams.moreDevices = opt.faults.moreDevices
	opt.faults = seams
	if c.pipe {
		opt.Stdin = &dribble{data: c.data, most: 100}
	} else {
		opt.Inputs = []string{writeFile(t, c.data)}
	}
	testfiles.Write(t, opt.Output, []byte("old"))
	var warnings []string
	opt.Warn = func(message string) { warnings = append(warnings, message) }
	before := runtime.NumGoroutine()
	_, err := c.run(context.Background(), opt)
	c.checkAttempt(t, in, opt.Output, err)
	if last := in.operation(); err == nil && slices.Contains(closings, last) &&
		(len(warnings) != 1 || !strings.Contains(warnings[0], errInjected.Error())) {
		t.Errorf("operation %d (%s) failed, the warnings are %q", in.failAt, last, warnings)
	}
	for _, folder := range []string{outDir, tempDir} {
		if left := testfiles.Names(t, folder); len(left) > 0 && !slices.Equal(left, []string{"out"}) {
			t.Errorf("operation %d (%s) failed: %s has %q", in.failAt, in.operation(), folder, left)
		}
	}
	waitForGoroutines(t, before, in)
	return err
}

// closings are operations after the output has received its name. Their errors are warnings.
var closings = []string{"close spill", "close input"}

// checkAttempt compares error and output with the fault.
func (c *faultCase) checkAttempt(t *testing.T, in *injector, name string, err error) {
	t.Helper()
	got, readErr := os.ReadFile(name)
	if readErr != nil {
		t.Fatalf("operation %d (%s): %v", in.failAt, in.operation(), readErr)
	}
	complete := bytes.Equal(decompressed(t, got), c.want)
	switch {
	case err == nil && in.failed.Load() != nil && !slices.Contains(closings, in.operation()):
		t.Errorf("operation %d (%s) failed without an error", in.failAt, in.operation())
	case err == nil && !complete:
		t.Errorf("the output has %d bytes that are not those due", len(got))
	case err != nil && !errors.Is(err, errInjected):
		t.Fatalf("operation %d (%s) failed, the error is: %v", in.failAt, in.operation(), err)
	case err != nil && string(got) != "old":
		// A failure after the output has its name cannot undo that.
		if last := in.operation(); !complete || last != "sync directory" && last != "close output" {
			t.Errorf("operation %d (%s) failed, and the old output is gone", in.failAt, last)
		}
	}
}

func (i *injector) operation() string {
	if op := i.failed.Load(); op != nil {
		return *op
	}
	return "none"
}

// waitForGoroutines waits until the number of goroutines is back at before. A goroutine may take a
// moment to end after its work is done.
func waitForGoroutines(t *testing.T, before int, in *injector) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			t.Fatalf("operation %d (%s) failed: %d goroutines before, %d now\n%s", in.failAt, in.operation(), before,
				runtime.NumGoroutine(), stacks)
		}
	}
}

// sosdFile puts the number of keys before 8-byte keys.
func sosdFile(keys []byte) []byte {
	return append(sosdHeader(len(keys)/8), keys...)
}

func sosdHeader(n int) []byte {
	header, err := format.Spec{Format: "sosd", Type: "u64"}.NewHeader()
	if err != nil {
		panic(err)
	}
	return header.Encode(int64(n))
}

// lateFault is a dataset whose records can be read only once.
type lateFault struct {
	chunker.Dataset
	splits int
}

func (d *lateFault) Split(n int) []device.Source {
	sources := d.Dataset.Split(n)
	if d.splits++; d.splits == 2 {
		for i, src := range sources {
			sources[i] = &lateSource{src}
		}
	}
	return sources
}

type lateSource struct{ device.Source }

func (s *lateSource) Next(most int, place func(int64, int) []byte) (int64, int, error) {
	first, n, err := s.Source.Next(most, place)
	if first > 0 {
		return first, n, err
	}
	// The other workers continue to read, and wait until the first records are written.
	time.Sleep(10 * time.Millisecond)
	return first, 0, errInjected
}

// TestCopyEndsWhenReadingFails fails one worker of a copy while the blocks of other workers wait
// for its records. The copy ends.
func TestCopyEndsWhenReadingFails(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	name := writeFile(t, k.make(t, "sorted", 100_000, seeded(t)))
	opt := small(Options{Record: k.spec, Workers: 2, Inputs: []string{name}})
	opt.Stdout = &bytes.Buffer{}
	opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset { return &lateFault{Dataset: d} }
	if _, err := Sort(t.Context(), opt); !errors.Is(err, errInjected) {
		t.Errorf("the error is: %v", err)
	}
}
