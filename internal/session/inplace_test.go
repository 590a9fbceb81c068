package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
)

// inPlaceForm is how an output differs from its input: by its header, or by the size or number of its records.
type inPlaceForm struct {
	name string
	opt  Options
	file func(recs []byte) []byte // nil: bare keys
}

func inPlaceForms() []inPlaceForm {
	plain := Options{Record: format.Spec{Type: "u64"}}
	with := func(opt Options, change func(o *Options)) Options {
		change(&opt)
		return opt
	}
	npy := Options{Record: format.Spec{Format: "npy"}}
	forms := []inPlaceForm{
		{name: "same", opt: plain},
		{name: "count", opt: with(plain, func(o *Options) { o.Unique, o.Count = true, true })},
		{name: "argsort u32", opt: with(plain, func(o *Options) { o.Argsort = "u32" })},
		{name: "argsort u64", opt: with(plain, func(o *Options) { o.Argsort = "u64" })},
		{name: "unique", opt: with(plain, func(o *Options) { o.Unique = true })},
		{name: "duplicates", opt: with(plain, func(o *Options) { o.Duplicates = true })},
		{name: "limit", opt: with(plain, func(o *Options) { o.Limit = 100 })},
		{name: "no records", opt: with(plain, func(o *Options) { o.Limit = NoRecords })},
		{name: "reverse", opt: with(plain, func(o *Options) { o.Reverse = true })},
		{name: "gzip", opt: with(plain, func(o *Options) { o.Compress = "gzip" })},
		{name: "shuffle", opt: with(plain, func(o *Options) { o.Shuffle, o.Seed = true, 7 })},
		{name: "verify", opt: with(plain, func(o *Options) { o.Verify = true })},
		{name: "kept header", opt: with(plain, func(o *Options) { o.SkipBytes, o.KeepHeader = 1000, true }),
			file: func(recs []byte) []byte { return append(bytes.Repeat([]byte{'h'}, 1000), recs...) }},
		{name: "skipped header", opt: with(plain, func(o *Options) { o.SkipBytes = 1000 }),
			file: func(recs []byte) []byte { return append(bytes.Repeat([]byte{'h'}, 1000), recs...) }},
		{name: "sosd", opt: Options{Record: format.Spec{Format: "sosd", Type: "u64"}}, file: sosdFile},
		{name: "unique sosd", opt: Options{Record: format.Spec{Format: "sosd", Type: "u64"}, Unique: true}, file: sosdFile},
		{name: "vectors", opt: Options{Record: format.Spec{Format: "ivecs", Keys: []string{"0"}}},
			file: func(recs []byte) []byte {
				recs = slices.Clone(recs)
				for at := 0; at < len(recs); at += 8 {
					copy(recs[at:], "\x01\x00\x00\x00")
				}
				return recs
			}},
		{name: "argsort of npy", opt: with(npy, func(o *Options) { o.Argsort = "u64" }),
			file: func(recs []byte) []byte { return paddedNpy(1024, recs) }},
		{name: "count of npy", opt: with(npy, func(o *Options) { o.Unique, o.Count = true, true }),
			file: func(recs []byte) []byte { return paddedNpy(80, recs) }},
	}
	for _, size := range []int{80, 96, 128, 1024} {
		forms = append(forms, inPlaceForm{fmt.Sprint("npy ", size), npy,
			func(recs []byte) []byte { return paddedNpy(size, recs) }})
	}
	return forms
}

// inPlaceWays are the ways to write over an input: each returns what closes the file again.
var inPlaceWays = map[string]func(t *testing.T, opt *Options, file string) io.Closer{
	"a file as standard output": func(t *testing.T, opt *Options, file string) io.Closer {
		f := openToWrite(t, file, 0)
		opt.Stdout = f
		return f
	},
	"a descriptor": func(t *testing.T, opt *Options, file string) io.Closer {
		f := openToWrite(t, file, 0)
		opt.Output = fmt.Sprint("/dev/fd/", f.Fd())
		return f
	},
	"a link to a descriptor": func(t *testing.T, opt *Options, file string) io.Closer {
		f := openToWrite(t, file, 0)
		opt.Output = filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(fmt.Sprint("/dev/fd/", f.Fd()), opt.Output); err != nil {
			t.Fatal(err)
		}
		return f
	},
	"another name of the file": func(t *testing.T, opt *Options, file string) io.Closer {
		other := filepath.Join(filepath.Dir(file), "other")
		_ = os.Remove(other)
		if err := os.Link(file, other); err != nil {
			t.Fatal(err)
		}
		f := openToWrite(t, other, 0)
		opt.Stdout = f
		return f
	},
}

func openToWrite(t *testing.T, name string, flag int) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|flag, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// whereSpread changes options so that the strategy can be spread over several devices, which hold all records.
func whereSpread(opt Options) Options {
	if opt.Strategy == Spread {
		opt = onDevices(opt, 3)
		opt.faults.chunkRecords = 0
	}
	return opt
}

// TestInPlace overwrites an input with every strategy. The file then equals the output to another file.
func TestInPlace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors have no names")
	}
	words := kindNamed("u64")
	for i, form := range inPlaceForms() {
		t.Run(form.name, func(t *testing.T) {
			t.Parallel()
			r := seeded(t)
			orders := []string{"uniform", "reversed", "nearly sorted", "few"}
			r.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
			for _, order := range append(orders[:effort(len(orders))], "sorted") {
				recs := inPlaceRecords(t, order, 1700, r)
				half := len(recs) / 16 * 8
				strategies := append([]Strategy{Spread}, anyStrategy...)
				testInPlace(t, form, i, strategies, recs)
				testInPlace(t, form, i, strategies, recs[:half], recs[half:])
			}
			testInPlace(t, form, i, anyStrategy[:1], nil)
			testInPlace(t, form, i, anyStrategy[:1], words.make(t, "uniform", 1, r), nil)
		})
	}
}

// inPlaceRecords are keys in an order of records_test, or nearly sorted.
func inPlaceRecords(t *testing.T, order string, n int, r *rand.Rand) []byte {
	k := kindNamed("u64")
	if order != "nearly sorted" {
		return k.make(t, order, n, r)
	}
	recs := k.make(t, "sorted", n, r)
	swapRecords(recs, 8, n/2)
	return recs
}

// testInPlace sorts files of some records into a new file, and then over each of them.
func testInPlace(t *testing.T, form inPlaceForm, seed int, strategies []Strategy, inputs ...[]byte) {
	t.Helper()
	opt := small(form.opt)
	opt.Workers = 2
	files := slices.Clone(inputs)
	for i := range files {
		if form.file != nil {
			files[i] = form.file(files[i])
		}
	}
	ways := slices.Sorted(maps.Keys(inPlaceWays))
	sorted := opt
	sorted.Strategy = MergeRuns
	sorted.Inputs = writeFiles(t, files)
	sorted.Output = filepath.Join(t.TempDir(), "out")
	if _, err := Sort(t.Context(), sorted); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(sorted.Output)
	if err != nil {
		t.Fatal(err)
	}
	for s, strategy := range strategies {
		for over := range files {
			way := ways[(seed+s+over)%len(ways)]
			opt.Strategy, opt.Output, opt.Stdout = strategy, "", nil
			opt.Inputs = writeFiles(t, files)
			file := opt.Inputs[over]
			open := inPlaceWays[way](t, &opt, file)
			report, err := Sort(t.Context(), whereSpread(opt))
			open.Close()
			got, readErr := os.ReadFile(file)
			if err != nil || readErr != nil {
				t.Fatalf("%s over input %d by %s: %v, %v", strategy, over, way, err, readErr)
			}
			if strategy == Spread && report.Strategy != Spread {
				t.Errorf("strategy %s, not %s: %s", report.Strategy, strategy, report.FallbackReason)
			}
			if !bytes.Equal(decompressed(t, got), decompressed(t, want)) {
				t.Fatalf("%s (%s) over input %d by %s: %d bytes, %d expected, and byte %d differs", strategy,
					report.Strategy, over, way, len(got), len(want), firstDifference(got, want, 1))
			}
		}
	}
}

// TestInPlaceAppends appends the sorted records to their input. Nothing is truncated, even if the output is empty.
func TestInPlaceAppends(t *testing.T) {
	k := kindNamed("u64")
	recs := k.make(t, "sorted", 1500, seeded(t))
	for _, limit := range []int64{0, 10, NoRecords} {
		opt := small(Options{Record: k.spec, Limit: limit, Inputs: []string{writeFile(t, recs)}})
		f := openToWrite(t, opt.Inputs[0], os.O_APPEND)
		opt.Stdout = f
		_, err := Sort(t.Context(), opt)
		f.Close()
		got, readErr := os.ReadFile(opt.Inputs[0])
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		if want := slices.Concat(recs, reference(t, k.layout(t), recs, opt)); !bytes.Equal(got, want) && limit >= 0 {
			t.Errorf("limit %d: %d bytes, %d expected", limit, len(got), len(want))
		}
		if limit < 0 && !bytes.Equal(got, recs) {
			t.Error("the input changed, and no record was wanted")
		}
	}
}

// TestMergeRefusesInPlace merges into one of the inputs in every way. Each merge fails and loses nothing.
func TestMergeRefusesInPlace(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors have no names")
	}
	k := kindNamed("u64")
	recs := k.make(t, "sorted", 1500, seeded(t))
	for way, open := range inPlaceWays {
		var opt Options
		files := writeFiles(t, [][]byte{recs, recs})
		f := open(t, &opt, files[1])
		_, err := Merge(t.Context(), MergeOptions{Record: k.spec, Inputs: files, Output: opt.Output,
			Stdout: opt.Stdout})
		f.Close()
		if err == nil || !strings.Contains(err.Error(), "is both an input and the output") {
			t.Errorf("%s: the error is: %v", way, err)
		}
		if got, err := os.ReadFile(files[1]); err != nil || !bytes.Equal(got, recs) {
			t.Errorf("%s: the input changed: %v", way, err)
		}
	}
}

// incomplete is what the error of a sort says that has begun to overwrite an input.
const incomplete = "was being overwritten and is now incomplete"

// checkUndamaged holds that the file is what it was, or that the error says that it is not.
func checkUndamaged(t *testing.T, what, file string, old []byte, err error) {
	t.Helper()
	got, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if said := strings.Contains(err.Error(), incomplete); said == bytes.Equal(got, old) {
		t.Errorf("%s: the file is as before: %t, and the error is: %v", what, bytes.Equal(got, old), err)
	}
}

// TestInPlaceFaults fails each operation of a sort over its input. Until the first byte is overwritten, the file
// stays as it was, header included. After that, the error says that it is damaged.
func TestInPlaceFaults(t *testing.T) {
	words := kindNamed("u64")
	recs := words.make(t, "uniform", 300, seeded(t))
	npy := Options{Record: format.Spec{Format: "npy"}}
	for name, opt := range map[string]Options{
		"merge":     {Record: npy.Record, Strategy: MergeRuns, BatchSize: 2},
		"partition": {Record: npy.Record, Strategy: Partition},
		"in core":   {Record: npy.Record},
		"waiting":   {Record: npy.Record, Strategy: MergeRuns, Unique: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := paddedNpy(80, recs)
			before, after := 0, 0
			for failAt := int64(0); ; failAt += int64(2 / effort(2)) {
				in := &injector{failAt: failAt}
				attempt := opt
				attempt.Workers, attempt.TempDirs = 2, []string{t.TempDir()}
				attempt.faults = in.faults(true)
				if name != "in core" {
					attempt.faults.chunkRecords, attempt.faults.blockBytes = 40, 200
				}
				attempt.Inputs = []string{writeFile(t, old)}
				f := openToWrite(t, attempt.Inputs[0], 0)
				attempt.Stdout = f
				_, err := Sort(t.Context(), attempt)
				f.Close()
				if in.failed.Load() == nil && err == nil {
					break
				}
				if err == nil {
					continue // that of a close is a warning
				}
				if !errors.Is(err, errInjected) {
					t.Fatalf("operation %d (%s): %v", failAt, in.operation(), err)
				}
				if strings.Contains(err.Error(), incomplete) {
					after++
				} else {
					before++
				}
				checkUndamaged(t, fmt.Sprint("operation ", failAt, " ", in.operation()), attempt.Inputs[0], old, err)
				if failAt > maxOperations {
					t.Fatal("no end")
				}
			}
			if before < 3 {
				t.Errorf("%d operations failed before the first byte was written, %d after", before, after)
			}
		})
	}
}

// TestInPlaceCancelled cancels a sort over its input at various moments.
func TestInPlaceCancelled(t *testing.T) {
	words := kindNamed("u64")
	recs := words.make(t, "uniform", 4000, seeded(t))
	old := paddedNpy(80, recs)
	cause := errors.New("the user has had enough")
	for _, strategy := range anyStrategy {
		for stage := range 3 {
			for _, after := range []int64{0, 8 * 700, 8 * 3000} {
				opt := small(Options{Record: format.Spec{Format: "npy"}, Strategy: strategy, Workers: 2,
					Inputs: []string{writeFile(t, old)}, TempDirs: []string{t.TempDir()}})
				f := openToWrite(t, opt.Inputs[0], 0)
				opt.Stdout = f
				ctx, cancel := context.WithCancelCause(context.Background())
				opt.Progress = &canceller{cancel: func() { cancel(cause) }, stage: stage, after: after}
				_, err := Sort(ctx, opt)
				f.Close()
				cancel(nil)
				if err != nil {
					checkUndamaged(t, fmt.Sprint(strategy, " in stage ", stage), opt.Inputs[0], old, err)
				}
			}
		}
	}
}

// touchedData has its file written to while it is read.
type touchedData struct {
	chunker.Dataset
	touch func()
}

func (d touchedData) Records() int64 {
	d.touch()
	return d.Dataset.Records()
}

// TestInPlaceNoticesChanges changes a file that is about to be overwritten. The sort notices this even with
// verification, whose checksum is then that of the changed records.
func TestInPlaceNoticesChanges(t *testing.T) {
	k := kindNamed("u64")
	for name, change := range map[string]func(f *os.File) error{
		"header": func(f *os.File) error { _, err := f.WriteAt(make([]byte, 128), 0); return err },
		"grown":  func(f *os.File) error { _, err := f.Seek(0, io.SeekEnd); f.Write(make([]byte, 8)); return err },
		"cut":    func(f *os.File) error { return f.Truncate(8 * 1000) },
	} {
		data := k.make(t, "uniform", 1500, seeded(t))
		opt := small(Options{Record: k.spec, Verify: true, Inputs: []string{writeFile(t, data)}})
		var changed []byte
		touched := false
		opt.faults.wrapDataset = func(d chunker.Dataset) chunker.Dataset {
			return touchedData{d, func() {
				if touched {
					return
				}
				touched = true
				f := openToWrite(t, opt.Inputs[0], 0)
				defer f.Close()
				later := time.Now().Add(time.Minute)
				if err := errors.Join(change(f), os.Chtimes(f.Name(), later, later)); err != nil {
					t.Error(err)
				}
				changed, _ = os.ReadFile(f.Name())
			}}
		}
		f := openToWrite(t, opt.Inputs[0], 0)
		opt.Stdout = f
		_, err := Sort(t.Context(), opt)
		f.Close()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if got, _ := os.ReadFile(opt.Inputs[0]); !bytes.Equal(got, changed) {
			t.Errorf("%s: it was overwritten; the error is: %v", name, err)
		}
	}
}
