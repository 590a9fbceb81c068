package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/sorttest"
)

func partOf(k, n int) Part { return Part{K: int64(k), N: int64(n)} }

// TestSlicesHaveHeaders sorts slices of files whose header counts the records. Each output is a
// file of the same format.
func TestSlicesHaveHeaders(t *testing.T) {
	t.Parallel()
	keys := func(of ...uint64) (file []byte) {
		for _, key := range append([]uint64{uint64(len(of))}, of...) {
			file = binary.LittleEndian.AppendUint64(file, key)
		}
		return file
	}
	opt := Options{Record: format.Spec{Format: "sosd", Type: "u64"}, Part: partOf(1, 2),
		Inputs: []string{writeFile(t, keys(5, 9, 4)), writeFile(t, keys(8, 1, 7))}}
	got, _, err := sortToBytes(t, opt)
	if err != nil || !bytes.Equal(got, keys(1, 7, 8)) {
		t.Errorf("got %x, %v", got, err)
	}
	opt.Argsort = "u32"
	got, _, err = sortToBytes(t, opt)
	if err != nil || !bytes.Equal(got, []byte("\x04\x00\x00\x00\x05\x00\x00\x00\x03\x00\x00\x00")) {
		t.Errorf("indexes %x, %v", got, err)
	}
}

// TestSlicesAreRefused checks that inputs that cannot be sliced, and invalid parts, are refused.
func TestSlicesAreRefused(t *testing.T) {
	t.Parallel()
	data := []byte("cab")
	plain := writeFile(t, data)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Inputs: []string{plain}, Part: partOf(2, 2)},
			"part 2/2: want K/N, the K-th of N parts, with K from 0 to N-1"},
		{Options{Inputs: []string{plain}, Part: partOf(1, 0)}, "part 1/0"},
		{Options{Stdin: bytes.NewReader(data), Part: partOf(0, 2)}, "part: standard input cannot be read at an offset"},
		{Options{Inputs: []string{plain, writeFile(t, compressed(t, data, format.Zstd))}, Part: partOf(0, 2)}, "compressed"},
		{Options{Inputs: []string{plain}, Part: partOf(0, 2), Output: plain}, plain + " is both an input and the output"},
	} {
		c.opt.Record = format.Spec{Type: "u8"}
		if _, _, err := sortToBytes(t, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	if got, err := os.ReadFile(plain); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the input is %q, %v", got, err)
	}
}

// TestChecksSlices checks that a disorder in a slice is reported with its position in the file.
func TestChecksSlices(t *testing.T) {
	t.Parallel()
	opt := Options{Record: format.Spec{Type: "u8"}, Inputs: []string{writeFile(t, []byte("abcbxyz"))}}
	for k, want := range []int64{0, 3, 0} {
		opt.Part = partOf(k, 3)
		report, err := Check(t.Context(), checkOptions(opt))
		disorder, bad := errors.AsType[*DisorderError](err)
		if report == nil || report.Records != int64(2+k/2) || bad != (want > 0) || bad && disorder.Record != want {
			t.Errorf("slice %d: %+v, %v", k, report, err)
		}
	}
}

// TestCheckpointIsOfOnePart checks that a checkpoint of a slice continues only with the same slice.
func TestCheckpointIsOfOnePart(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	data := k.make(t, "uniform", 900, seeded(t))
	opt := keptSort(t, k, data, Options{Part: partOf(1, 3), Strategy: MergeRuns})
	failing := opt
	failing.faults.output = func(operation string) error {
		if operation == "write output" {
			return errInjected
		}
		return nil
	}
	if _, err := Sort(t.Context(), failing); !errors.Is(err, errInjected) {
		t.Fatalf("a sort that cannot write: %v", err)
	}
	other := opt
	other.Part.K = 2
	_, err := Sort(t.Context(), other)
	if err == nil || !strings.Contains(err.Error(), "Options.Part was 1/3 and is now 2/3") {
		t.Errorf("another part: %v", err)
	}
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	checkKept(t, opt, reference(t, k.layout(t), data[300*8:600*8], opt), "part 1/3")
}

// TestMergesParts merges each part separately. Concatenated, the parts equal the whole merge, and
// their sizes are balanced.
func TestMergesParts(t *testing.T) {
	r := seeded(t)
	for _, name := range []string{"u64", "u8", "rec7", "gensort", "wide key"} {
		k := kindNamed(name)
		layout := k.layout(t)
		for _, dist := range []string{"uniform", "zipf", "few", "equal", "sorted"} {
			for range effort(6) {
				opt := Options{Record: k.spec, Reverse: r.IntN(3) == 0, Unique: r.IntN(3) == 0, Workers: 1 + r.IntN(3),
					BatchSize: []int{0, 2, 5}[r.IntN(3)], Verify: r.IntN(2) == 0}
				opt.Raw = k.spec.Format == "" // a few random bytes can look like text
				opt.faults.blockBytes = layout.RecordSize << r.IntN(8)
				if opt.Unique {
					opt.Keep = []string{"first", "last"}[r.IntN(2)]
				} else if r.IntN(3) == 0 {
					opt.Limit = 1 + r.Int64N(1500)
				}
				recs := k.make(t, dist, r.IntN(1200), r)
				for _, piece := range sortedPieces(t, layout, recs, 1+r.IntN(12), opt, r) {
					opt.Inputs = append(opt.Inputs, writeFile(t, piece))
				}
				merging := mergeOptions(opt)
				whole, err := mergeToBytes(t, merging)
				if err != nil {
					t.Fatal(err)
				}
				checkParts(t, merging, whole, int64(len(recs)/layout.RecordSize), 1+r.Int64N(9), r.IntN(2) == 0)
			}
		}
	}
}

// checkParts merges n parts and compares them with the whole. If known is set, the cuts are
// computed once, in two shares.
func checkParts(t *testing.T, opt MergeOptions, whole []byte, records, n int64, known bool) {
	t.Helper()
	if known {
		var cuts [][]int64
		for k := range int64(2) {
			opt.Part = Part{K: k, N: 2}
			share, err := Cuts(t.Context(), opt, n)
			if err != nil {
				t.Fatal(err)
			}
			cuts = append(cuts[:max(len(cuts)-1, 0)], share...) // both shares contain the cut between them
		}
		opt.Cuts = cuts
	}
	var joined []byte
	for k := range n {
		var part bytes.Buffer
		opt.Part, opt.Stdout, opt.TempDirs = Part{K: k, N: n}, &part, []string{t.TempDir()}
		report, err := Merge(t.Context(), opt)
		if err != nil {
			t.Fatalf("part %v: %v", opt.Part, err)
		}
		from, to := opt.Part.Of(records)
		if !opt.Unique && opt.Limit == 0 && report.Records != to-from {
			t.Errorf("part %v of %d: %d records were read", opt.Part, records, report.Records)
		}
		joined = append(joined, part.Bytes()...)
	}
	if !bytes.Equal(joined, whole) {
		t.Fatalf("%d parts of %d records, %s, unique %t, limit %d: %d bytes, want %d; the first difference is at %d", n,
			records, describe(opt.options()), opt.Unique, opt.Limit, len(joined), len(whole),
			sorttest.FirstDifference(joined, whole, 1))
	}
}

// TestPartsSeeDisorder puts one record out of order at any position. At least one of the parts
// fails and names it.
func TestPartsSeeDisorder(t *testing.T) {
	t.Parallel()
	k := kindNamed("u64")
	for record := 1; record < 60; record++ {
		opt := MergeOptions{Record: k.spec}
		for i := range 3 {
			piece := k.make(t, "sorted", 60, rand.New(rand.NewPCG(uint64(i), 1)))
			if i == 1 {
				swapRecords(piece, 8, record-1)
			}
			opt.Inputs = append(opt.Inputs, writeFile(t, piece))
		}
		seen := 0
		for p := range 6 {
			opt.Part = partOf(p, 6)
			_, err := mergeToBytes(t, opt)
			disorder, ok := errors.AsType[*DisorderError](err)
			if ok && (disorder.File != opt.Inputs[1] || disorder.Record != int64(record)) || err != nil && !ok {
				t.Errorf("disorder in record %d: %v", record, err)
			}
			if err != nil {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("no part sees record %d", record)
		}
	}
}

// TestPartsOfMergesAreRefused checks the options that cannot be combined with a part of a merge.
func TestPartsOfMergesAreRefused(t *testing.T) {
	t.Parallel()
	a := writeFile(t, []byte("abc"))
	base := MergeOptions{Record: format.Spec{Type: "u8"}, Inputs: []string{a, a}}
	for want, change := range map[string]func(*MergeOptions){
		"part and limit cannot":           func(o *MergeOptions) { o.Part, o.Unique, o.Limit = partOf(0, 2), true, 1 },
		"needs 3 cuts":                    func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 2), [][]int64{{0, 0}, {3, 3}} },
		"but there are 2":                 func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 1), [][]int64{{0}, {3}} },
		"not all inputs are sorted":       func(o *MergeOptions) { o.Part, o.Cuts = partOf(0, 1), [][]int64{{2, 0}, {1, 3}} },
		"is both an input and the output": func(o *MergeOptions) { o.Part, o.Output = partOf(0, 1), a },
		"cannot be read at an offset": func(o *MergeOptions) {
			o.Part, o.Inputs, o.Stdin = partOf(0, 1), []string{a, "-"}, bytes.NewReader(nil)
		},
	} {
		opt := base
		change(&opt)
		if _, err := mergeToBytes(t, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if _, err := Cuts(t.Context(), base, 0); err == nil {
		t.Error("no parts are not refused")
	}
	opt := base
	opt.Part = partOf(3, 3)
	if _, err := Cuts(t.Context(), opt, 4); err == nil {
		t.Error("no share is not refused")
	}
	base.Cuts = [][]int64{{0}, {3}}
	if _, err := mergeToBytes(t, base); err == nil || !strings.Contains(err.Error(), "cuts: a merge") {
		t.Errorf("cuts of no part: %v", err)
	}
}

// TestSummariesOfPartsAddUp merges parts with verification. Combined, their summaries equal that
// of a check of the whole.
func TestSummariesOfPartsAddUp(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for _, name := range []string{"u8", "rec7", "f64"} {
		k := kindNamed(name)
		recs := k.make(t, "few", 500, r)
		opt := Options{Record: k.spec, Reverse: r.IntN(2) == 0}
		opt.Inputs = []string{writeFile(t, reference(t, k.layout(t), recs, opt))}
		whole, err := Check(t.Context(), checkOptions(opt))
		if err != nil {
			t.Fatal(err)
		}
		opt.Verify = true
		var joined *Summary
		for p := range 7 {
			opt.Part, opt.Stdout = partOf(p, 7), io.Discard
			report, err := mergeAs(t.Context(), opt)
			switch {
			case err != nil:
				t.Fatal(err)
			case joined == nil:
				joined = report.Summary
			case !joined.Precedes(report.Summary, false):
				t.Errorf("%+v before %+v", joined, report.Summary)
			default:
				err = joined.Add(report.Summary)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if *joined != whole.Summary {
			t.Errorf("%s: the parts add up to %+v, the whole is %+v", name, joined, whole.Summary)
		}
	}
}
