package plan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// runToy is the function of the toy in engine.Strategies: it reads all records into memory and
// sorts them there.
func runToy(ctx context.Context, r *engine.Run, _ *plan.Candidate) error {
	start := time.Now()
	size := r.Facts.Keyer.Layout().RecordSize
	data := make([]byte, r.Facts.Records*int64(size))
	read := device.BlockWriterFunc(func(_ context.Context, first int64, recs []byte) error {
		copy(data[first*int64(size):], recs)
		return nil
	})
	if err := device.Copy(ctx, r.Input.Data.Split(1)[0], r.Plan.Sizes.Workers, 1000, size, read); err != nil {
		return err
	}

	records := slices.Collect(slices.Chunk(data, size))
	slices.SortStableFunc(records, r.Facts.Keyer.Compare)
	err := r.Output.WriteBlock(ctx, 0, slices.Concat(records...))
	r.Meter.Note(plan.ToyStage, time.Since(start).Seconds())
	return err
}

// TestToyStrategy adds a strategy to the tables and sorts with it: chosen for its cost, requested
// by name, and in a case where it turns out to be impossible.
func TestToyStrategy(t *testing.T) {
	impossible := func(context.Context, *engine.Run, *plan.Candidate) error {
		return &plan.Impossible{Why: "the toy is broken"}
	}
	for _, c := range []struct {
		name      string
		requested plan.Strategy
		run       func(context.Context, *engine.Run, *plan.Candidate) error
		ran       plan.Strategy
		changes   int
	}{
		{"chosen", plan.Auto, runToy, plan.Toy, 0},
		{"requested", plan.Toy, runToy, plan.Toy, 0},
		{"impossible", plan.Toy, impossible, plan.InCore, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan.RegisterToy(t)
			engine.Strategies[plan.Toy] = c.run
			t.Cleanup(func() { delete(engine.Strategies, plan.Toy) })

			in, want := randomNumbers(t, 5000)
			out := filepath.Join(t.TempDir(), "out")
			report, err := session.Sort(t.Context(), session.Options{
				Inputs:   []string{in},
				Record:   format.Spec{Type: "u64"},
				Output:   out,
				Strategy: c.requested,
				Verify:   true,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of output: %v", len(got), err)
			}
			if report.Strategy != c.ran || len(report.Detail.Changes) != c.changes || !report.Verified {
				t.Errorf("%s sorted, changes %v, verified: %t", report.Strategy, report.Detail.Changes, report.Verified)
			}
			phases := report.Detail.Phases
			tossed := slices.ContainsFunc(phases, func(p session.Phase) bool { return p.Name == plan.ToyStage })
			if tossed != (c.ran == plan.Toy) {
				t.Errorf("the stages are %v", phases)
			}
		})
	}
	if plan.StageText(plan.ToyStage) != plan.ToyStage {
		t.Error("the toy is still there")
	}
}

// randomNumbers writes a file of numbers and returns their bytes in order.
func randomNumbers(t *testing.T, n int) (file string, sorted []byte) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = r.Uint64N(1000)
	}
	encode := func() (data []byte) {
		for _, number := range numbers {
			data = binary.LittleEndian.AppendUint64(data, number)
		}
		return data
	}
	file = filepath.Join(t.TempDir(), "in")
	testfiles.Write(t, file, encode())
	slices.Sort(numbers)
	return file, encode()
}
