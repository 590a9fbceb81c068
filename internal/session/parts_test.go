package session

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// TestPartsFitInChunks sorts many chunks of random keys by partition. Every part must fit in a
// chunk, because its size was foreseeable: a file tells its length, and a stream has many parts if
// the memory limit is small.
func TestPartsFitInChunks(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kind{name: "u64", spec: format.Spec{Type: "u64"}}
	for name, c := range map[string]struct {
		records, chunkRecords int64
		isStream              bool
	}{
		// 171 chunks. A part that filled 0.85 of a chunk would have 93 keys of the sample.
		"file": {1_200_000, 7000, false},
		// 128 parts of 9200 records would not fit.
		"stream": {128 * 9200, 8000, true},
	} {
		t.Run(name, func(t *testing.T) {
			data := k.make(t, "uniform", int(c.records), r)
			opt := Options{Record: k.spec, Strategy: Partition, MemoryBytes: MinMemory, Workers: 2}
			opt.faults.chunkRecords = c.chunkRecords
			if c.isStream {
				opt.Stdin = &dribble{data: data, most: 700_000}
			} else {
				opt.Inputs = []string{writeFile(t, data)}
			}

			report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
			if report.Strategy != plan.Partition || len(report.Detail.Changes) > 0 {
				t.Errorf("%s ran with changes %v, want a partition without changes", report.Strategy, report.Detail.Changes)
			}
			if passes := float64(report.BytesSpilled) / float64(len(data)); passes > 1.1 {
				t.Errorf("%d bytes were spilled, %.2f times the input", report.BytesSpilled, passes)
			}
		})
	}
}
