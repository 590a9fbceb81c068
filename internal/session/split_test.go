package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// splitFiles returns the decompressed contents of the files of a set.
func splitFiles(t *testing.T, name string) (files [][]byte) {
	t.Helper()
	text, err := os.ReadFile(name + ".index")
	if err != nil {
		t.Fatal(err)
	}
	var index output.Index
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for _, entry := range index.Files {
		base := entry.Name
		if entry.RawName != nil { // not UTF-8
			base = string(entry.RawName)
		}
		file, err := os.ReadFile(filepath.Join(filepath.Dir(name), base))
		if err != nil || int64(len(file)) != entry.Bytes {
			t.Fatalf("%+v: %d bytes, %v", entry, len(file), err)
		}
		files = append(files, decompressed(t, file))
	}
	return files
}

// TestSortSplit checks that the concatenated files of a set equal the output in one file, for all
// ways to sort and to merge, and that all records of a key are in one file.
func TestSortSplit(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	forms := []Options{{}, {}, {Unique: true}, {Unique: true, Count: true}, {Duplicates: true}}
	for _, k := range plainKinds {
		for _, n := range []int{0, 1, 3000} {
			for range effort(8) {
				opt := forms[r.IntN(len(forms))]
				opt.Record, opt.Reverse, opt.Limit = k.spec, r.IntN(2) == 0, []int64{0, 0, NoRecords, 1, 2000}[r.IntN(5)]
				recs := k.make(n, []int{1, 40, 200}[r.IntN(3)], r)
				want := []byte{}
				if opt.Limit >= 0 {
					want = k.want(recs, opt)
				}
				opt.Compress = []string{"", "", "zstd", "s2"}[r.IntN(4)]
				if opt.SplitFiles = 1 + r.IntN(9); r.IntN(2) == 0 {
					opt.SplitFiles, opt.SplitBytes = 0, int64(k.size*(40+r.IntN(3000)))
				}
				run, sorting := Sort, withInputs(t, variant(opt, k.size, r), recs, k.size, r)
				if r.IntN(4) == 0 {
					sorted := writeFile(t, k.want(recs, Options{Reverse: opt.Reverse}))
					sorting.Inputs, sorting.Sources, run = []string{sorted}, nil, mergeAs
				}
				sorting.Output, sorting.TempDirs = filepath.Join(t.TempDir(), "out"), []string{t.TempDir()}
				if _, err := run(t.Context(), sorting); err != nil {
					t.Fatalf("%s, %+v, %s: %v", k.name, opt, describe(sorting), err)
				}
				files, size := splitFiles(t, sorting.Output), k.size
				if opt.Count {
					size += output.CountBytes
				}
				if got := slices.Concat(files...); !bytes.Equal(got, want) || opt.SplitFiles > 0 && len(files) != opt.SplitFiles {
					t.Fatalf("%s, %+v, %s: %d files with %d bytes, due are %d", k.name, opt, describe(sorting), len(files),
						len(got), len(want))
				}
				checkCuts(t, k, slices.DeleteFunc(files, func(f []byte) bool { return len(f) == 0 }), size)
			}
		}
	}
}

// checkCuts checks that no key is in two files.
func checkCuts(t *testing.T, k plainKind, files [][]byte, size int) {
	t.Helper()
	for i, file := range files[min(1, len(files)):] {
		if k.cmp(files[i][len(files[i])-size:][:k.size], file[:k.size]) == 0 {
			t.Errorf("%s: a key is in files %d and %d", k.name, i, i+1)
		}
	}
}

// TestSortSplitForms splits arrays, indexes and shuffled records, which have no key. Each file of
// a split array is an array.
func TestSortSplitForms(t *testing.T) {
	t.Parallel()
	recs := kindNamed("f64").make(t, "few", 1500, seeded(t))
	in := writeFile(t, npyFile(t, "f64", recs, 8))
	for _, opt := range []Options{
		{}, {Unique: true, Count: true}, {Argsort: "u32"}, {Shuffle: true, Seed: 3},
		{Checkpoint: filepath.Join(t.TempDir(), "kept"), Strategy: MergeRuns},
	} {
		opt.Record, opt.Inputs, opt.Output = format.Spec{Format: "npy"}, []string{in}, filepath.Join(t.TempDir(), "out")
		opt = small(opt)
		kept := opt.Checkpoint
		opt.Checkpoint = ""
		want, _, err := sortToBytes(t, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.SplitFiles, opt.Checkpoint = 4, kept
		if _, err = Sort(t.Context(), opt); err != nil {
			t.Fatalf("%+v: %v", opt, err)
		}
		files := splitFiles(t, opt.Output)
		if opt.Argsort == "" {
			want = want[128:]
			for i, file := range files {
				spec := opt.Record
				if opt.Count {
					spec.Keys = []string{"value"}
				}
				header, err := spec.ReadHeader(bytes.NewReader(file), "")
				if err != nil || header.Records()*int64(header.Layout().RecordSize) != int64(len(file)-128) {
					t.Errorf("%+v: file %d has %d bytes: %v", opt, i, len(file), err)
				}
				files[i] = file[128:]
			}
		}
		if got := slices.Concat(files...); len(files) != 4 || !bytes.Equal(got, want) {
			t.Errorf("%+v: %d files, %d bytes, due are %d", opt, len(files), len(got), len(want))
		}
	}
	opt := Options{Record: format.Spec{Format: "npy"}, Inputs: []string{in}, SplitFiles: 2, Compress: "zstd"}
	opt.Output = filepath.Join(t.TempDir(), "out")
	if _, err := Sort(t.Context(), opt); err == nil || len(leftIn(t, filepath.Dir(opt.Output))) > 0 {
		t.Errorf("compressed arrays: %v", err)
	}
}
