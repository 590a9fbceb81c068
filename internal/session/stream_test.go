package session

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// chunkOfStream is the number of records in a chunk of these tests. It is large enough that any two
// samples of a chunk are similar.
const chunkOfStream = 80_000

// streamOf returns n records. Each consists of a random key, with least as the smallest possible
// value, and the record's position.
func streamOf(r *rand.Rand, n int, least, values uint64) []byte {
	var recs []byte
	for i := range n {
		recs = binary.LittleEndian.AppendUint64(recs, least+r.Uint64N(values))
		recs = binary.LittleEndian.AppendUint64(recs, uint64(i))
	}
	return recs
}

// TestStreamStrategies sorts streams of unknown length. A stream that fits into one chunk is sorted
// in core. A few chunks are merged. More chunks are partitioned by their keys, unless the
// distribution of the keys changes after the start of the stream.
func TestStreamStrategies(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kind{name: "u64 and its place", spec: format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}}
	const most = plan.RunsOfStream * chunkOfStream // maximum number of records that are merged, not partitioned
	uniform := streamOf(r, most+1, 1<<40, 1<<40)
	later := slices.Concat(uniform, streamOf(r, 2*chunkOfStream, 1<<41, 1<<20))
	soon := slices.Concat(uniform[:16*3*chunkOfStream], streamOf(r, most, 1<<41, 1<<20))
	for name, c := range map[string]struct {
		data  []byte
		asked Strategy
		ran   Strategy
	}{
		"nothing":                       {nil, Auto, plan.InCore},
		"a chunk":                       {uniform[:16*chunkOfStream], Auto, plan.InCore},
		"a record more":                 {uniform[:16*chunkOfStream+16], Auto, MergeRuns},
		"all that is merged":            {uniform[:16*most], Auto, MergeRuns},
		"a record more than that":       {uniform, Auto, Partition},
		"few keys":                      {streamOf(r, most+1, 9, 3), Auto, Partition},
		"one key":                       {streamOf(r, most+1, 9, 1), Auto, MergeRuns},
		"other keys, later":             {later, Auto, Partition},
		"other keys, soon":              {soon, Auto, MergeRuns},
		"the same, by partition":        {soon, Partition, Partition},
		"a chunk, by partition":         {uniform[:16*chunkOfStream], Partition, plan.InCore},
		"a record more, by partition":   {uniform[:16*chunkOfStream+16], Partition, Partition},
		"more than is merged, by merge": {uniform, MergeRuns, MergeRuns},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := Options{Record: k.spec, Stdin: &dribble{data: c.data, most: 700_000}, Strategy: c.asked, Workers: 2,
				MemoryBytes: 32 << 20}
			opt.faults.chunkRecords = chunkOfStream
			report := checkSort(t, k, c.data, reference(t, k.layout(t), c.data, Options{}), opt)
			if report.Strategy != c.ran {
				t.Errorf("%s ran, not %s: %v", report.Strategy, c.ran, report.Detail.Changes)
			}
			told := slices.ContainsFunc(report.Detail.Changes, func(change Change) bool {
				return change.Ran == c.ran && change.Parts == 0
			})
			ofParts := slices.ContainsFunc(report.Detail.Changes, func(change Change) bool { return change.Parts > 0 })
			if name == "other keys, later" && !ofParts {
				t.Errorf("no part was too large: %v", report.Detail.Changes)
			}
			if planned := report.Detail.Plan.Strategy; told != (planned != c.ran) {
				t.Errorf("%s was planned, %s ran: %v", planned, c.ran, report.Detail.Changes)
			}
		})
	}
}
