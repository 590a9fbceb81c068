package extsort

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// inFiles writes records into so many files, some of them empty.
func inFiles(t *testing.T, data []byte, size, n int, r *rand.Rand) (names []string) {
	t.Helper()
	for ; n > 1; n-- {
		records := r.IntN(2*len(data)/size/n+1) * r.IntN(2)
		names = append(names, writeFile(t, data[:records*size]))
		data = data[records*size:]
	}
	return append(names, writeFile(t, data))
}

func partOf(k, n int) Part { return Part{K: int64(k), N: int64(n)} }

// TestSortsSlices sorts each slice of several files by itself, with every strategy and selection.
func TestSortsSlices(t *testing.T) {
	r := seeded(t)
	for _, name := range []string{"u64", "rec7", "gensort", "wide key"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for _, n := range []int{0, 1, 7, 3000} {
			for range effort(6) {
				data := k.make(t, []string{"uniform", "few", "zipf", "sorted", "reversed"}[r.IntN(5)], n, r)
				names := inFiles(t, data, size, 1+r.IntN(4), r)
				parts := 1 + r.IntN(6)
				for p := range parts {
					opt := Options{Record: k.spec, Inputs: names, Part: partOf(p, parts), Reverse: r.IntN(4) == 0,
						Unique: r.IntN(4) == 0, Limit: int64(r.IntN(4) / 3 * 100)}
					slice := data[n*p/parts*size : n*(p+1)/parts*size]
					want := reference(t, k.layout(t), slice, opt)
					checkSort(t, k, slice, want, variant(opt, size, r))
				}
			}
		}
	}
}

// TestSlicesHaveHeaders sorts slices of files whose header counts their records: each is such a file, too.
func TestSlicesHaveHeaders(t *testing.T) {
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

// TestSlicesAreRefused has inputs of which no slice can be taken, and parts that are none.
func TestSlicesAreRefused(t *testing.T) {
	data := []byte("cab")
	plain := writeFile(t, data)
	for _, c := range []struct {
		opt  Options
		want string
	}{
		{Options{Inputs: []string{plain}, Part: partOf(2, 2)},
			"part 2/2: want K/N, the K-th of N parts, with K from 0 to N-1"},
		{Options{Inputs: []string{plain}, Part: partOf(1, 0)}, "part 1/0"},
		{Options{Stdin: bytes.NewReader(data), Part: partOf(0, 2)}, "part: standard input cannot be read from its middle"},
		{Options{Inputs: []string{plain, writeFile(t, compressed(t, data, format.Zstd))}, Part: partOf(0, 2)}, "compressed"},
		{Options{Inputs: []string{plain}, Part: partOf(0, 2), Output: plain}, plain + " is an input and the output"},
	} {
		c.opt.Record = Keys(U8)
		if _, _, err := sortToBytes(t, c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	if got, err := os.ReadFile(plain); err != nil || !bytes.Equal(got, data) {
		t.Errorf("the input is %q, %v", got, err)
	}
}

// TestChecksSlices finds disorder in a slice at its place in the file.
func TestChecksSlices(t *testing.T) {
	opt := Options{Record: Keys(U8), Inputs: []string{writeFile(t, []byte("abcbxyz"))}}
	for k, want := range []int64{0, 3, 0} {
		opt.Part = partOf(k, 3)
		report, err := Check(t.Context(), opt)
		disorder, bad := errors.AsType[*DisorderError](err)
		if report == nil || report.Records != int64(2+k/2) || bad != (want > 0) || bad && disorder.Record != want {
			t.Errorf("slice %d: %+v, %v", k, report, err)
		}
	}
}

// TestCheckpointIsOfOnePart goes on with the same slice only.
func TestCheckpointIsOfOnePart(t *testing.T) {
	k := kindNamed("u64")
	data := k.make(t, "uniform", 900, seeded(t))
	opt := keptSort(t, k, data, Options{Part: partOf(1, 3), Strategy: MergeRuns})
	failing := opt
	failing.faults.output = func(operation string) error {
		if operation == "rename" {
			return fmt.Errorf("%s: %w", filepath.Base(opt.Output), errInjected)
		}
		return nil
	}
	if _, err := Sort(t.Context(), failing); err == nil {
		t.Skip("the output has its name without a rename")
	}
	other := opt
	other.Part.K = 2
	if _, err := Sort(t.Context(), other); err == nil || !strings.Contains(err.Error(), "--part was 1/3, and is 2/3 now") {
		t.Errorf("another part: %v", err)
	}
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	checkKept(t, opt, reference(t, k.layout(t), data[300*8:600*8], opt), "part 1/3")
}
