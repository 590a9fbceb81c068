package engine

import (
	"math"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestMayOverwrite checks that an input may be overwritten only after all of it has been read, both
// as a file and as a stream.
func TestMayOverwrite(t *testing.T) {
	name := testfiles.Temp(t, "in", make([]byte, 8*1000))
	kind := input.Kind{Spec: format.Spec{Type: "u64"}}
	for how, sources := range map[string][]input.Source{
		"file":   input.Named(name),
		"stream": {{Reader: strings.NewReader(strings.Repeat("x", 8*1000))}},
	} {
		files, err := input.Open(t.Context(), kind, sources, nil, format.CommonWindow)
		if err != nil {
			t.Fatal(err)
		}
		files[0].Overwritten = true
		keyer := formattest.KeyerOf(t, files[0].Header.Layout())
		in := NewInput(files, keyer, chunker.NewDataset(files), &Meter{})
		defer in.Data.Close()
		r := &Run{Input: in, Facts: &plan.Facts{}}
		src, err := in.Data.Cut(math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 8*1000)
		for read := 0; ; {
			err := r.mayOverwrite(nil)
			if (err == nil) != (read == 1000) {
				t.Errorf("%s: after %d of 1000 records: %v", how, read, err)
			}
			if read == 1000 {
				break
			}
			_, n, err := src.Next(500, func(_ int64, n int) []byte { return buf[:n*8] })
			if read += n; err != nil {
				t.Fatal(err)
			}
		}
		r.Facts.Request.Limit = -1
		if err := r.mayOverwrite(nil); err != nil {
			t.Errorf("%s: no record is wanted: %v", how, err)
		}
	}
}
