package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// misleading is a dataset whose sample contains only small keys.
type misleading struct{ chunker.Dataset }

func (misleading) Sample(context.Context, format.Prefixer, int) (plan.Sample, error) {
	prefixes := make([]uint64, plan.SampleKeys)
	for i := range prefixes {
		prefixes[i] = uint64(i * 7919 % len(prefixes))
	}
	return plan.NewSample(prefixes), nil
}

// TestMergeOfTheFirst merges only the first records, more than fit in a chunk. Most of the others are left
// out before anything is spilled. If the sample is wrong, the merge starts again.
func TestMergeOfTheFirst(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	const n = 40_000
	clustered := func(k kind) []byte { // all small keys are in one slice
		recs := k.make(t, "uniform", n, r)
		size := k.layout(t).RecordSize
		for i := range 4000 {
			binary.LittleEndian.PutUint64(recs[(n/2+i)*size:], r.Uint64N(1<<20))
		}
		return recs
	}
	made := func(order string) func(kind) []byte {
		return func(k kind) []byte { return k.make(t, order, n, r) }
	}
	for name, c := range map[string]struct {
		kinds   []string
		data    func(kind) []byte
		wrap    func(chunker.Dataset) chunker.Dataset
		exactly int64 // the limit; 0: at random
	}{
		"uniform":   {[]string{"u64", "u32be", "u24", "f64", "i128", "rec9"}, made("uniform"), nil, 0},
		"few keys":  {[]string{"u64", "i128"}, made("few"), nil, 0},
		"one slice": {[]string{"u64"}, clustered, nil, 3000},
		"misled": {[]string{"u64", "i128"}, made("uniform"),
			func(d chunker.Dataset) chunker.Dataset { return misleading{d} }, 0},
		"gathered": {[]string{"gensort"}, made("uniform"), nil, 0},
	} {
		for _, name2 := range c.kinds {
			k := kindNamed(name2)
			data := c.data(k)
			limit := c.exactly
			if limit == 0 {
				limit = 600 + rand.Int64N(3000)
			}
			t.Run(fmt.Sprintf("%s, %s", name, name2), func(t *testing.T) {
				t.Parallel()
				opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none", Limit: limit, Workers: 2,
					Verify: limit%2 == 0, Inputs: []string{writeFile(t, data)}})
				opt.faults.wrapDataset = c.wrap
				checkSort(t, k, data, reference(t, k.layout(t), data, opt), opt)
			})
		}
	}
}
