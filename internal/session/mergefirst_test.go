package session

import (
	"context"
	"encoding/binary"
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

// TestMergeOfTheFirst merges only the first records, more than fit in a chunk, if all of them are in one
// slice of the input, and if the sample is wrong, so that the merge starts again. Rows of
// testdata/sort/merge.txt have other inputs.
func TestMergeOfTheFirst(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	const n = 40_000
	for _, c := range []struct {
		name, kind string
		clustered  bool
		wrap       func(chunker.Dataset) chunker.Dataset
	}{
		{"one slice", "u64", true, nil},
		{"misled", "u64", false, func(d chunker.Dataset) chunker.Dataset { return misleading{d} }},
		{"misled", "i128", false, func(d chunker.Dataset) chunker.Dataset { return misleading{d} }},
	} {
		k := kindNamed(c.kind)
		data := k.make(t, "uniform", n, r)
		limit := 600 + r.Int64N(3000)
		if c.clustered {
			limit = 3000
			for i := range 4000 { // all small keys
				binary.LittleEndian.PutUint64(data[(n/2+i)*8:], r.Uint64N(1<<20))
			}
		}
		opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none", Limit: limit, Workers: 2,
			Verify: limit%2 == 0, Inputs: []string{writeFile(t, data)}})
		opt.faults.wrapDataset = c.wrap
		checkSort(t, k, data, reference(t, k.layout(t), data, opt), opt)
	}
}
