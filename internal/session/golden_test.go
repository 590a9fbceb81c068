package session

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestGolden sorts the files in testdata, which were made by other programs, with every strategy.
// It compares the outputs with files that other programs sorted.
func TestGolden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file    string
		spec    format.Spec
		reverse bool
		from    string // the input, if it is not the file in golden
	}{
		{file: "particles.npy", spec: format.Spec{Format: "npy", Keys: []string{"mass:desc"}}},
		{file: "vectors.npy", spec: format.Spec{Format: "npy", Keys: []string{"3:desc"}}},
		{
			file: "vectors.npy", from: "embeddings.npz",
			spec: format.Spec{Format: "npz", Member: "vectors", Keys: []string{"3:desc"}},
		},
		{file: "ticks.npy", spec: format.Spec{Format: "npy"}, reverse: true},
		{file: "readings.f64", spec: format.Spec{Type: "f64"}},
		{file: "events.bin", spec: format.Spec{RecordSize: 7, Keys: []string{"3:u16be:desc", "0:i8"}}},
		{file: "points.fbin", spec: format.Spec{Format: "fbin", Keys: []string{"4:desc", "0"}}},
		{file: "kmers.sosd", spec: format.Spec{Format: "sosd", Type: "u64"}},
	} {
		want := testfiles.Read(t, filepath.Join("..", "..", "testdata", "golden", c.file))
		for _, strategy := range anyStrategy {
			opt := small(Options{Record: c.spec, Reverse: c.reverse, Strategy: strategy, Verify: true})
			opt.Inputs = []string{filepath.Join("..", "..", "testdata", cmp.Or(c.from, c.file))}
			opt.Output = filepath.Join(t.TempDir(), "out")
			if _, err := Sort(context.Background(), opt); err != nil {
				t.Errorf("%s, %s: %v", c.file, strategy, err)
				continue
			}
			got := testfiles.Read(t, opt.Output)
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %s: the output of %d bytes is not the golden one of %d", c.file, strategy, len(got), len(want))
			}
		}
	}
}
