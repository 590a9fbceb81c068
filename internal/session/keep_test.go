package session

import (
	"bytes"
	"testing"
)

// TestKeptIsNotSpilled sorts a little more than memory holds. The last chunk is not spilled, and
// the plan says so.
func TestKeptIsNotSpilled(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	const chunk = testChunkRecords
	for _, name := range []string{"u64", "gensort"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for _, n := range []int{chunk + 1, chunk + chunk/5, 2*chunk - 1, 2 * chunk, 2*chunk + 1, 5*chunk + 7} {
			data := k.make(t, "uniform", n, r)
			want := reference(t, k.layout(t), data, Options{})
			opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none"})

			file := opt
			file.Inputs = []string{writeFile(t, data)}
			report := checkSort(t, k, data, want, file)
			if due := int64((n - chunk) * size); report.BytesSpilled != due || report.Detail.Plan.TempBytes != due {
				t.Errorf("%s, %d records: %d bytes were spilled, %d planned, %d are due", name, n, report.BytesSpilled,
					report.Detail.Plan.TempBytes, due)
			}
			if kept := report.Detail.Plan.KeptBytes; kept != int64(chunk*size) {
				t.Errorf("%s, %d records: %d bytes are planned to stay", name, n, kept)
			}

			opt.Stdin = bytes.NewReader(data)
			report = checkSort(t, k, data, want, opt)
			if due := int64((n - 1) / chunk * chunk * size); report.BytesSpilled != due {
				t.Errorf("%s, a stream of %d records: %d bytes were spilled, %d are due", name, n, report.BytesSpilled, due)
			}
		}
	}
}

// TestKeepOnlyWhatOneMergeTakes sorts into as many runs as one merge can take, and into one more.
// In the second case all chunks are spilled.
func TestKeepOnlyWhatOneMergeTakes(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	k := kindNamed("u64")
	for runs, due := range map[int]int64{3: 2, 4: 4 + 2} { // spilled chunks; of four, two are merged first
		data := k.make(t, "uniform", runs*testChunkRecords, r)
		opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none", BatchSize: 3,
			Inputs: []string{writeFile(t, data)}})
		report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
		if spilled := report.BytesSpilled / (8 * testChunkRecords); spilled != due {
			t.Errorf("%d runs: %d chunks were spilled, %d are due", runs, spilled, due)
		}
	}
}
