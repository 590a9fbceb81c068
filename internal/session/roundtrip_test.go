package session

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestReadsItsOwnOutput writes each container with few records and with none, with every option
// that leaves out records. It reads the files again: as a file, from a pipe, compressed, and in a
// merge.
func TestReadsItsOwnOutput(t *testing.T) {
	r := seeded(t)
	for name, c := range containers(t, r) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, change := range map[string]func(o *Options){
				"all":           func(o *Options) {},
				"no records":    func(o *Options) { o.Limit = NoRecords },
				"duplicates":    func(o *Options) { o.Duplicates = true },
				"unique":        func(o *Options) { o.Unique = true },
				"split":         func(o *Options) { o.SplitFiles = 4 },
				"part":          func(o *Options) { o.Part = Part{K: 0, N: 4} },
				"split by size": func(o *Options) { o.SplitBytes = 1 },
				"argsort":       func(o *Options) { o.Argsort = "u32" },
				"count":         func(o *Options) { o.Unique, o.Count = true, true },
			} {
				for _, empty := range []bool{true, false} {
					data := c.some
					if empty {
						data = c.none
					}
					opt := Options{Record: c.spec, Inputs: []string{writeFile(t, data)}}
					opt.Output = filepath.Join(t.TempDir(), "out")
					change(&opt)
					if opt.Part.N > 0 && c.spec.Format == "npz" {
						continue // an npz archive is read sequentially, so it has no parts
					}
					_, err := Sort(t.Context(), opt)
					if opt.Count && c.noCount {
						continue
					}
					if err != nil {
						t.Fatalf("%s: %v", way, err)
					}
					written := c.spec
					if written.Format == "npz" {
						written.Format, written.Member = "npy", ""
					}
					switch {
					case opt.Argsort != "":
						written = format.Spec{Type: "u32"}
					case opt.Count && written.Format == "":
						written = format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
					case opt.Count && written.Format == "gensort":
						written = format.Spec{RecordSize: 108, Keys: []string{"0:bytes10"}}
					case opt.Count && len(written.Keys) == 0:
						written.Keys = []string{"value"}
					case opt.Count && len(written.Keys) == 1 && written.Keys[0] == "1":
						written = format.Spec{Format: "npy", Keys: []string{"4:f32"}}
					}
					names, err := filepath.Glob(opt.Output + "*")
					if err != nil || len(names) == 0 {
						t.Fatalf("%s: no file: %v", way, err)
					}
					for _, file := range names {
						if !strings.HasSuffix(file, ".index") {
							readsAgain(t, way, written, file)
						}
					}
				}
			}
		})
	}
}

// readsAgain passes an output file to another sort in one of several ways, and expects the same
// records.
func readsAgain(t *testing.T, way string, spec format.Spec, file string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for how, opt := range map[string]Options{
		"file":       {Inputs: []string{file}},
		"pipe":       {Stdin: &dribble{data: want, most: 7}},
		"compressed": {Stdin: bytes.NewReader(compressed(t, want, format.Zstd))},
		"merge":      {Inputs: []string{file, file}, Unique: true},
	} {
		if how == "merge" && way == "argsort" {
			continue // indexes are not in order
		}
		opt.Record, opt.Stdout = spec, &bytes.Buffer{}
		run := Sort
		if how == "merge" {
			run = mergeAs
		}
		if _, err := run(t.Context(), opt); err != nil {
			t.Errorf("%s: %d bytes that were written are not read (%s): %v", way, len(want), how, err)
			continue
		}
		if got := opt.Stdout.(*bytes.Buffer).Bytes(); how != "merge" && len(got) != len(want) {
			t.Errorf("%s: %d bytes were written and read (%s), and %d came out", way, len(want), how, len(got))
		}
	}
}

// A container consists of two files of a format: one with a few records, and one without records.
type container struct {
	spec       format.Spec
	some, none []byte
	noCount    bool // the format has no field for a count
}

func containers(t *testing.T, r *rand.Rand) map[string]container {
	words, wide := kindNamed("u64").make(t, "uniform", 9, r), kindNamed("gensort").make(t, "uniform", 9, r)
	all := map[string]container{
		"keys":    {spec: format.Spec{Type: "u64"}, some: words},
		"gensort": {spec: format.Spec{Format: "gensort"}, some: wide},
		"sosd": {spec: format.Spec{Format: "sosd", Type: "u64"}, some: sosdFile(words), none: sosdFile(nil),
			noCount: true},
		"npy": {spec: format.Spec{Format: "npy"}, some: paddedNpy(80, words), none: paddedNpy(80, nil)},
		"npz": {spec: format.Spec{Format: "npz"}, some: zipped(t, paddedNpy(80, words)),
			none: zipped(t, paddedNpy(80, nil))},
		"npy rows": {spec: format.Spec{Format: "npy", Keys: []string{"1"}}, some: npyRows("<f4", words, 2),
			none: npyRows("<f4", nil, 2)},
	}
	for vectors, dimension := range map[string]byte{"fvecs": 1, "ivecs": 1, "bvecs": 4} {
		recs := slices.Clone(words)
		for at := 0; at < len(recs); at += 8 {
			copy(recs[at:], []byte{dimension, 0, 0, 0})
		}
		all[vectors] = container{spec: format.Spec{Format: vectors, Keys: []string{"0"}}, some: recs, noCount: true}
	}
	for _, vectors := range []string{"fbin", "ibin"} {
		all[vectors] = container{spec: format.Spec{Format: vectors, Keys: []string{"1"}}, some: bigannFile(words, 8, 2),
			none: bigannFile(nil, 8, 2), noCount: true}
	}
	for _, vectors := range []string{"u8bin", "i8bin"} {
		all[vectors] = container{spec: format.Spec{Format: vectors, Keys: []string{"7"}}, some: bigannFile(words, 8, 8),
			none: bigannFile(nil, 8, 8), noCount: true}
	}
	return all
}

// zipped returns an archive with one array.
func zipped(t *testing.T, array []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	w, err := archive.Create("array.npy")
	if err == nil {
		_, err = w.Write(array)
	}
	if err = errors.Join(err, archive.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// paddedNpy returns an array of u64 with a header of the given size, as written by old versions
// of NumPy and by other programs.
func paddedNpy(header int, recs []byte) []byte {
	text := fmt.Sprintf("{'descr': '<u8', 'fortran_order': False, 'shape': (%d,), }", len(recs)/8)
	text += strings.Repeat(" ", header-10-1-len(text)) + "\n"
	begin := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	return slices.Concat(begin, []byte(text), recs)
}

func writeFiles(t *testing.T, files [][]byte) (names []string) {
	t.Helper()
	for _, data := range files {
		names = append(names, writeFile(t, data))
	}
	return names
}
