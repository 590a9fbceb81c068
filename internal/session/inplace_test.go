package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestInPlaceAppends appends the sorted records to their input. Nothing is truncated, even if the
// output is empty.
func TestInPlaceAppends(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	recs := k.make(t, "sorted", 1500, seeded(t))
	for _, limit := range []int64{0, 10, NoRecords} {
		opt := small(Options{Record: k.spec, Limit: limit, Inputs: []string{writeFile(t, recs)}})
		f := testfiles.Open(t, opt.Inputs[0], os.O_RDWR|os.O_APPEND)
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

// incomplete is the text of the error if a sort fails after it has begun to overwrite an input.
const incomplete = "was being overwritten and is now incomplete"

// checkUndamaged checks that the file is unchanged, or that the error mentions the damage.
func checkUndamaged(t *testing.T, what, file string, old []byte, err error) {
	t.Helper()
	got, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	damage, said := errors.AsType[*OverwriteError](err)
	if said == bytes.Equal(got, old) || said && (damage.File != file || !strings.Contains(err.Error(), incomplete)) {
		t.Errorf("%s: the file is as before: %t, and the error is: %v", what, bytes.Equal(got, old), err)
	}
}

// TestInPlaceFaults fails each operation of a sort over its input, or cancels the sort. Until the first byte is
// overwritten, the file stays as it was, header included. After that, the error says that it is
// damaged.
func TestInPlaceFaults(t *testing.T) {
	words := kindNamed("u64")
	recs := words.make(t, "uniform", 300, seeded(t))
	npy := Options{Record: format.Spec{Format: "npy"}}
	for name, opt := range map[string]Options{
		"merge":                {Record: npy.Record, Strategy: MergeRuns, BatchSize: 2},
		"merge, cancelled":     {Record: npy.Record, Strategy: MergeRuns, BatchSize: 2},
		"partition":            {Record: npy.Record, Strategy: Partition},
		"partition, cancelled": {Record: npy.Record, Strategy: Partition},
		"in core":              {Record: npy.Record},
		"waiting":              {Record: npy.Record, Strategy: MergeRuns, Unique: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := paddedNpy(80, recs)
			before, after := 0, 0
			for failAt := int64(0); ; failAt += int64(2 / effort(2)) {
				in := &injector{failAt: failAt}
				ctx, cancel := context.WithCancelCause(t.Context())
				if strings.HasSuffix(name, "cancelled") {
					in.cancel = cancel
				}
				attempt := opt
				attempt.Workers, attempt.TempDirs = 2, []string{t.TempDir()}
				attempt.faults = in.faults(true)
				if name != "in core" {
					attempt.faults.chunkRecords, attempt.faults.blockBytes = 40, 200
				}
				attempt.Inputs = []string{writeFile(t, old)}
				f := testfiles.Open(t, attempt.Inputs[0], os.O_RDWR)
				attempt.Stdout = f
				_, err := Sort(ctx, attempt)
				f.Close()
				cancel(nil)
				if in.failed.Load() == nil && err == nil {
					break
				}
				if err == nil {
					continue // an error of close is only a warning
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

// touchedData is a dataset whose file is modified while it is read.
type touchedData struct {
	chunker.Dataset
	touch func()
}

func (d touchedData) Records() int64 {
	d.touch()
	return d.Dataset.Records()
}

// TestInPlaceNoticesChanges changes a file that is about to be overwritten. The sort notices this
// even with verification, which then computes the checksum of the changed records.
func TestInPlaceNoticesChanges(t *testing.T) {
	t.Parallel()
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
				f := testfiles.Open(t, opt.Inputs[0], os.O_RDWR)
				later := time.Now().Add(time.Minute)
				if err := errors.Join(change(f), os.Chtimes(f.Name(), later, later)); err != nil {
					t.Error(err)
				}
				changed, _ = os.ReadFile(f.Name())
			}}
		}
		f := testfiles.Open(t, opt.Inputs[0], os.O_RDWR)
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
