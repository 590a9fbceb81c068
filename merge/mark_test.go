package merge

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format/formattest"
)

// TestMergeContinuesFromMarks merges the rest of the runs after each mark of a merge. The result
// must be the rest of the output, even though the blocks of the runs differ.
func TestMergeContinuesFromMarks(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, l := range layouts(t) {
		k := formattest.KeyerOf(t, l)
		for i, shape := range shapes {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			recs, want := sortedParts(k, parts(l, shape.fill, 1+rng.IntN(9), 400, rng))
			opt := Options{Keyer: k, Workers: 1 + rng.IntN(3), BlockBytes: l.RecordSize * (1 + rng.IntN(50)), Limit: -1}
			marks := map[int64][]int64{0: make([]int64, len(recs))}
			opt.MarkRecords = 1 + rng.Int64N(100)
			opt.Mark = func(records int64, upTo []int64) { marks[records] = upTo }
			if err := Merge(t.Context(), opt, memoryRuns(k, recs, 1+rng.IntN(30)), newCollector(k, opt.BlockBytes)); err != nil {
				t.Fatal(err)
			}
			opt.Mark = nil
			for records, upTo := range marks {
				got, err := mergeFrom(t, opt, memoryRuns(k, recs, 1+rng.IntN(30)), upTo)
				if err != nil || !bytes.Equal(got, want[records*int64(l.RecordSize):]) {
					t.Fatalf("%v/%s: from record %d on, %v of the runs: wrong, %v", l, shape.name, records, upTo, err)
				}
			}
		}
	}
}

func mergeFrom(t *testing.T, opt Options, runs []*spill.Run, upTo []int64) ([]byte, error) {
	t.Helper()
	out := newCollector(opt.Keyer, opt.BlockBytes)
	for i, run := range runs {
		var err error
		if runs[i], err = run.From(upTo[i]); err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
	}
	err := Merge(context.Background(), opt, runs, out)
	return out.Written(t), err
}
