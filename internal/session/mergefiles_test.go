package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/fields"
)

// mergeOptions returns opt in the form of options for a merge.
func mergeOptions(opt Options) MergeOptions {
	m := fields.Shared[MergeOptions](opt)
	m.faults = opt.faults
	return m
}

// mergeAs merges with the options of a sort.
func mergeAs(ctx context.Context, opt Options) (*Report, error) { return Merge(ctx, mergeOptions(opt)) }

// mergeToBytes merges into a pipe or a file and returns the output.
func mergeToBytes(t *testing.T, opt MergeOptions) ([]byte, error) {
	t.Helper()
	var stdout bytes.Buffer
	opt.Stdout, opt.TempDirs = &stdout, []string{t.TempDir()}
	_, err := Merge(context.Background(), opt)
	return stdout.Bytes(), err
}

// sortedPieces divides records into pieces and sorts each of them. A stable merge of the pieces
// must equal a stable sort of the concatenated pieces.
func sortedPieces(t *testing.T, l format.Layout, recs []byte, n int, opt Options, r *rand.Rand) [][]byte {
	t.Helper()
	var pieces [][]byte
	for rest := n; rest > 0; rest-- {
		records := len(recs) / l.RecordSize
		if rest > 1 {
			records = min(r.IntN(2*records/rest+1), records)
		}
		piece := recs[:records*l.RecordSize]
		recs = recs[records*l.RecordSize:]
		pieces = append(pieces, reference(t, l, piece, Options{Reverse: opt.Reverse}))
	}
	return pieces
}

// TestMergeNamesFirstDisorder merges inputs, one of them with several places out of order. The
// error must name the first place.
func TestMergeNamesFirstDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for _, first := range []int{2, engine.DisorderBytes/8 - 1, engine.DisorderBytes / 8, engine.DisorderBytes/8 + 1} {
		good, bad := k.make(t, "sorted", 400_000, seeded(t)), k.make(t, "sorted", 400_000, seeded(t))
		copy(bad[8*first:], k.make(t, "reversed", 400_000-first, seeded(t)))
		clear(bad[8*first : 8*first+8])
		opt := MergeOptions{Record: k.spec, Inputs: []string{writeFile(t, good), writeFile(t, bad)},
			MemoryBytes: MinMemory, Output: filepath.Join(t.TempDir(), "out")}
		_, err := Merge(t.Context(), opt)
		var disorder *DisorderError
		if !errors.As(err, &disorder) || disorder.File != opt.Inputs[1] || disorder.Record != int64(first) ||
			disorder.Key != "0" || disorder.After != fmt.Sprint(binary.LittleEndian.Uint64(bad[8*first-8:])) {
			t.Errorf("of record %d on: %v", first, err)
		}
	}
}

// TestMergeDisorder checks that the error names the input that is out of order, and the record,
// in one level and in several.
func TestMergeDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for _, batch := range []int{0, 2, 3} {
		for _, streams := range []bool{false, true} {
			for _, bad := range []int{0, 3, 6} {
				for _, record := range []int{299, 1, 31, 32, 33}[:effort(5)] {
					opt := MergeOptions{Record: k.spec, BatchSize: batch, Workers: 2}
					opt.faults.blockBytes = 256
					key := ""
					for i := range 7 {
						piece := k.make(t, "sorted", 300, rand.New(rand.NewPCG(uint64(i), 1)))
						if i == bad {
							swapRecords(piece, 8, record-1)
							key = fmt.Sprint(binary.LittleEndian.Uint64(piece[8*record:]))
						}
						if streams && i%2 == 1 {
							piece = compressed(t, piece, format.Gzip)
						}
						opt.Inputs = append(opt.Inputs, writeFile(t, piece))
					}
					_, err := mergeToBytes(t, opt)
					var disorder *DisorderError
					if !errors.As(err, &disorder) {
						t.Fatalf("batch %d, streams %t: input %d is not sorted, the error is %v", batch, streams, bad, err)
					}
					if disorder.File != opt.Inputs[bad] || disorder.Record != int64(record) || disorder.Byte != int64(8*record) ||
						disorder.Key != key {
						t.Errorf("batch %d, streams %t: input %d is out of order in record %d; reported was input %s: %v",
							batch, streams, bad, record, indexOf(opt.Inputs, disorder.File), err)
					}
				}
			}
		}
	}
}

func indexOf(names []string, name string) string {
	for i, n := range names {
		if n == name {
			return fmt.Sprint(i)
		}
	}
	return name
}

// TestMergeErrors checks that Merge reports the same errors about its inputs as Sort.
func TestMergeErrors(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	sorted := k.make(t, "sorted", 500, seeded(t))
	good := writeFile(t, sorted)
	sosd := format.Spec{Format: "sosd", Type: "u64"}
	promising := append(sosdHeader(600), sorted...)
	for name, c := range map[string]struct {
		opt  MergeOptions
		want []string
	}{
		"partial file": {MergeOptions{Record: k.spec, Inputs: []string{good, writeFile(t, sorted[:3997])}},
			[]string{"byte 3992 (5 of 8 bytes)"}},
		"partial pipe": {MergeOptions{Record: k.spec, Inputs: []string{good, "-"}, Stdin: bytes.NewReader(sorted[:3997])},
			[]string{"standard input", "5"}},
		"cut header file": {MergeOptions{Record: sosd, Inputs: []string{writeFile(t, promising)}}, []string{"600", "500"}},
		"cut header pipe": {MergeOptions{Record: sosd, Stdin: bytes.NewReader(promising)},
			[]string{"standard input", "600", "500"}},
		"missing": {MergeOptions{Record: k.spec, Inputs: []string{good, "/no/such/file"}}, []string{"/no/such/file"}},
	} {
		out := filepath.Join(t.TempDir(), "out")
		c.opt.Output = out
		_, err := mergeToBytes(t, c.opt)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in the error: %v", name, want, err)
			}
		}
		if left := leftIn(t, filepath.Dir(out)); len(left) > 0 {
			t.Errorf("%s: %q is left", name, left)
		}
	}
}
