package session

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// FuzzSort reads a layout and a way to sort from the first bytes, and sorts the others.
func FuzzSort(f *testing.F) {
	f.Add(uint64(1), []byte("the layout and the way, then the records: these bytes"))
	f.Add(uint64(0), []byte{7, 2, 3, 1, 1, 0, 5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	f.Add(uint64(99), bytes.Repeat([]byte{8, 0, 3, 0}, 300))
	f.Fuzz(func(t *testing.T, way uint64, data []byte) {
		spec, recs := specOf(data)
		if spec.RecordSize == 0 || len(recs) > 1<<16 {
			return
		}
		k := kind{"fuzzed", spec}
		recs = recs[:len(recs)/spec.RecordSize*spec.RecordSize]
		r := rand.New(rand.NewPCG(way, 0))
		opt := Options{Record: spec, Unique: way&1 != 0, Reverse: way&2 != 0}
		if way&4 != 0 {
			opt.Limit = 1 + r.Int64N(100)
		}
		want := reference(t, k.layout(t), recs, opt)
		opt = variant(opt, spec.RecordSize, r)
		if opt.Stdin = bytes.NewReader(recs); way&8 != 0 {
			opt.Inputs = []string{writeFile(t, recs)}
		}
		var plain format.Recognition
		if format.Detect(recs) == format.None && plain.CheckPacked(recs) == nil && plain.CheckRecords(spec, recs) == nil {
			checkSort(t, k, recs, want, opt)
		}
	})
}

// specOf makes a record description from the first bytes: size, number of fields, and two bytes for
// each field.
func specOf(data []byte) (format.Spec, []byte) {
	if len(data) < 2 {
		return format.Spec{}, nil
	}
	size, fields := 1+int(data[0])%40, 1+int(data[1])%3
	data = data[2:]
	types := []string{"u8", "u16", "u32be", "u64", "i128", "f32", "f64be", "bytes3", "i8"}
	widths := []int{1, 2, 4, 8, 16, 4, 8, 3, 1}
	spec := format.Spec{RecordSize: size}
	for ; fields > 0 && len(data) >= 2; fields-- {
		typ := int(data[0]) % len(types)
		if widths[typ] > size {
			typ = 0
		}
		key := format.Field{Offset: int(data[1]) % (size - widths[typ] + 1), Desc: data[0] >= 128}
		key.Type, _ = format.ParseType(types[typ])
		spec.Keys, data = append(spec.Keys, key.String()), data[2:]
	}
	return spec, data
}

// FuzzInput sorts bytes in the format that they claim to have. The result is an error, or an output
// with the same number of records.
func FuzzInput(f *testing.F) {
	plain := bytes.Repeat([]byte("12345678"), 20)
	f.Add(byte(0), sosdFile(plain))
	f.Add(byte(1), formattest.Npy(f, "u64", plain))
	f.Add(byte(3), bigannFile(plain, 8, 2))
	for _, c := range []format.Compression{format.Gzip, format.Zstd, format.S2} {
		f.Add(byte(2), formattest.Compress(f, plain, c))
	}
	f.Fuzz(func(t *testing.T, choice byte, data []byte) {
		spec := []format.Spec{
			{Format: "sosd", Type: "u64"}, {Format: "npy"}, {Type: "u64"}, {Format: "fbin", Keys: []string{"1"}},
		}[choice%4]
		opt := small(Options{Record: spec, Stdin: bytes.NewReader(data), Stdout: io.Discard, TempDirs: []string{t.TempDir()},
			MemoryBytes: MinMemory, Verify: true})
		if report, err := Sort(t.Context(), opt); err == nil && report.Records != report.RecordsOut {
			t.Errorf("%d records came in, %d went out", report.Records, report.RecordsOut)
		}
	})
}
