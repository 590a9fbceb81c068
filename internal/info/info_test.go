package info

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// lookAt returns the report on a file with this content.
func lookAt(t *testing.T, data []byte, opt Options) *Report {
	t.Helper()
	r, err := Inspect(t.Context(), testfiles.Temp(t, "in", data), nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newRandom(t *testing.T) *rand.Rand {
	const seed = 27
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// structured returns records that consist of a small number, a small field, and random bytes.
func structured(r *rand.Rand, size, records int) []byte {
	data := formattest.Bytes(r, size*records)
	for i := range records {
		rec := data[i*size : (i+1)*size]
		copy(rec, binary.BigEndian.AppendUint32(nil, uint32(i)))
		rec[size-1] = byte(r.IntN(3))
	}
	return data
}

func TestLikelySizesFindsTheRecord(t *testing.T) {
	r := newRandom(t)
	for _, size := range []int{5, 7, 8, 12, 13, 24, 100, 127, 500, 600} {
		for _, records := range []int{60, 3000} {
			report := lookAt(t, structured(r, size, records), Options{})
			if len(report.RecordSizes) == 0 || report.RecordSizes[0].RecordSize != size {
				t.Errorf("%d records of %d bytes: %+v", records, size, report.RecordSizes)
				continue
			}
			first := report.RecordSizes[0]
			if first.Records != int64(records) || first.LeftOver != 0 || first.Same <= first.Chance {
				t.Errorf("%d records of %d bytes: %+v", records, size, first)
			}
			if n := len(report.Shown); n != 3 || report.Shown[2].Byte != int64((records-1)*size) {
				t.Errorf("%d records of %d bytes: shown are %+v", records, size, report.Shown)
			}
		}
	}
}

func TestLikelySizesSeesAHeader(t *testing.T) {
	r := newRandom(t)
	data := append([]byte("a header of 33 bytes, all of them"), structured(r, 26, 2000)...)
	sizes := lookAt(t, data, Options{}).RecordSizes
	if len(sizes) == 0 || sizes[0].RecordSize != 26 || sizes[0].LeftOver != 33-26 {
		t.Errorf("%+v", sizes)
	}
}

// TestHeaderIsGuessed finds the beginning of the records after headers of any length. It finds
// nothing if the records have no bytes in common.
func TestHeaderIsGuessed(t *testing.T) {
	r := newRandom(t)
	// With 21 and 84, no bytes are left over.
	for _, header := range []int{1, 21, 24, 84, 181, 1000} {
		data := append(bytes.Repeat([]byte("head"), 250)[:header], structured(r, 21, 5000)...)
		s := lookAt(t, data, Options{}).RecordSizes
		if len(s) != 1 || s[0].RecordSize != 21 || s[0].Header != int64(header) || s[0].Records != 5000 {
			t.Errorf("behind %d bytes there are %+v", header, s)
		}
	}
	name := testfiles.Temp(t, "in", append([]byte("h"), formattest.Bytes(r, 40_000)...))
	src, err := open(t.Context(), name, nil, &Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if at, err := headerOf(src, 20); at != 0 || err != nil {
		t.Errorf("random bytes begin at %d, %v", at, err)
	}
}

func TestLikelySizesOfNoRecords(t *testing.T) {
	r := newRandom(t)
	text := strings.Repeat("What is in a file, as far as its bytes say.\nNothing has to be known of it.\n", 100)
	for name, data := range map[string][]byte{
		"random": formattest.Bytes(r, 1<<20), "short": {1, 2, 3}, "zeros": make([]byte, 5000), "one": {7},
		"text": append([]byte(text), "and more"...),
	} {
		if report := lookAt(t, data, Options{}); len(report.RecordSizes) > 0 {
			t.Errorf("%s: %+v", name, report.RecordSizes)
		}
	}
}

func TestContainers(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want string
	}{
		"empty":    {"", "empty"},
		"text":     {"some\nlines\n", "text"},
		"parquet":  {"PAR1\x15\x04\x15" + strings.Repeat("x", 50), "a Parquet file"},
		"xz":       {"\xfd7zXZ\x00" + strings.Repeat("x", 50), "compressed with xz"},
		"sosd":     {"\x02\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("\x01", 16), "sosd"},
		"raw":      {"\x00\x01\x02", "raw"},
		"npy":      {"\x93NUMPY", "npy"},
		"nonsense": {"\x93NUMPY\x01\x00\xff\xff" + strings.Repeat("{", 1000), "npy"},
	} {
		if r := lookAt(t, []byte(c.data), Options{}); r.Container != c.want {
			t.Errorf("%s: %q, want %q", name, r.Container, c.want)
		}
	}
	matrix := "\x93NUMPY\x01\x00\x76\x00" +
		fmt.Sprintf(
			"%-117s\n",
			"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 3), }",
		) + strings.Repeat("x", 24)
	if r := lookAt(t, []byte(matrix), Options{}); r.Problem == "" {
		t.Errorf("an array of three dimensions is no problem: %+v", r)
	}
}

// TestLookBearsAnything checks that no content is an error: headers with changed bytes, truncated
// anywhere.
func TestLookBearsAnything(t *testing.T) {
	r := newRandom(t)
	var files [][]byte
	for _, name := range []string{"particles.npy", "ticks.npy", "kmers.sosd", "events.bin"} {
		data := testfiles.Read(t, "../../testdata/"+name)
		files = append(files, data, formattest.Compress(t, data, format.Gzip))
	}
	specs := []format.Spec{{}, {Type: "f64"}, {RecordSize: 9, Keys: []string{"3:u16"}}, {Format: "npy"},
		{Format: "sosd", Type: "u32"}, {Keys: []string{"mass"}}, {Format: "gensort"}}
	for range 400 {
		data := bytes.Clone(files[r.IntN(len(files))])
		data = data[:r.IntN(len(data)+1)]
		for range r.IntN(4) {
			if len(data) > 0 {
				data[r.IntN(min(len(data), 200))] = byte(r.Uint32())
			}
		}
		lookAt(t, data, Options{Record: specs[r.IntN(len(specs))], All: r.IntN(2) == 0})
	}
}

// Records of newKeyed have a key of u16be at byte 3, followed by an f32.
const keyedSize = 9

var keyedSpec = format.Spec{RecordSize: keyedSize, Keys: []string{"3:u16be", "5:f32"}}

// newKeyed returns records with few distinct keys, in an order selected by shape.
func newKeyed(r *rand.Rand, n int, shape string) []byte {
	keys := make([]uint16, n)
	for i := range keys {
		keys[i] = uint16(r.IntN(max(n/2, 1)))
	}
	switch shape {
	case "sorted":
		sort.SliceStable(keys, func(i, j int) bool { return keys[i] < keys[j] })
	case "reversed":
		sort.SliceStable(keys, func(i, j int) bool { return keys[i] > keys[j] })
	case "equal":
		clear(keys)
	}
	data := formattest.Bytes(r, n*keyedSize)
	for i, key := range keys {
		binary.BigEndian.PutUint16(data[i*keyedSize+3:], key)
		value := math.Float32bits(1.5)
		if shape == "nans" && i%3 == 0 {
			value = 0xffc00000 + uint32(i%2)
		}
		binary.LittleEndian.PutUint32(data[i*keyedSize+5:], value)
	}
	return data
}

// oracle computes the same as a scan of all records of newKeyed, without our packages, except the
// text of the extremes.
func oracle(data []byte) (s Scan, least, most uint16) {
	n := len(data) / keyedSize
	keys := make([]uint64, n)
	least = math.MaxUint16
	for i := range keys {
		rec := data[i*keyedSize:]
		key, value := binary.BigEndian.Uint16(rec[3:]), binary.LittleEndian.Uint32(rec[5:])
		least, most = min(least, key), max(most, key)
		if math.IsNaN(float64(math.Float32frombits(value))) {
			s.NaNs++
		}
		// All NaNs here are negative, and the other value is positive.
		keys[i] = uint64(key)<<32 | uint64(^value)
		if value>>31 == 0 {
			keys[i] = uint64(key)<<32 | uint64(value) | 1<<31
		}
	}
	s.Records, s.All = int64(n), true
	s.Sorted, s.Reversed = true, true
	for i := 1; i < n; i++ {
		switch {
		case keys[i] < keys[i-1]:
			if s.Sorted {
				s.Disorder = &Disorder{Record: int64(i), Byte: int64(i * keyedSize), AfterRecord: int64(i - 1)}
			}
			s.Sorted = false
		case keys[i] > keys[i-1]:
			s.Reversed = false
		default:
			s.EqualNeighbours++
		}
	}
	s.Reversed = s.Reversed && !s.Sorted
	different := map[uint64]bool{}
	for _, key := range keys {
		different[key] = true
	}
	s.SampleKeys, s.SampleDuplicates = int64(n), int64(n-len(different))
	return s, least, most
}

func TestScanAgainstAnOracle(t *testing.T) {
	r := newRandom(t)
	for _, n := range []int{0, 1, 2, 3, 100, 5000} {
		for _, shape := range []string{"random", "sorted", "reversed", "equal", "nans"} {
			data := newKeyed(r, n, shape)
			report := lookAt(t, data, Options{Record: keyedSpec})
			if n == 0 {
				if report.Scan != nil || report.Records != 0 {
					t.Errorf("of nothing: %+v", report)
				}
				continue
			}
			got := *report.Scan
			want, least, most := oracle(data)
			where := fmt.Sprintf("%d %s records", n, shape)
			if !strings.HasPrefix(got.Min, fmt.Sprintf("(%d, ", least)) ||
				!strings.HasPrefix(got.Max, fmt.Sprintf("(%d, ", most)) {
				t.Errorf("%s: from %s to %s, want %d to %d", where, got.Min, got.Max, least, most)
			}
			checkHistogram(t, where, got.Histogram, n)
			got.Min, got.Max, got.Histogram = "", "", nil
			if got.Disorder != nil {
				got.Disorder.Key, got.Disorder.After = "", ""
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n%+v, want\n%+v", where, got, want)
			}
		}
	}
}

func checkHistogram(t *testing.T, where string, bins []Bin, n int) {
	t.Helper()
	all := int64(0)
	for i, b := range bins {
		all += b.Count
		if i > 0 && b.From != bins[i-1].To {
			t.Errorf("%s: bins %+v", where, bins)
		}
	}
	if all != int64(n) || len(bins) > maxBins {
		t.Errorf("%s: %d keys in bins %+v", where, all, bins)
	}
}

func TestHistogramCounts(t *testing.T) {
	var data []byte
	for i := range 1000 {
		data = append(data, byte(i%10), byte(i%10/9)) // little-endian 0 … 8, 9 + 256
	}
	bins := lookAt(t, data, Options{Record: format.Spec{Type: "u16"}}).Scan.Histogram
	want := []Bin{{"0", "34", 900}, {"34", "68", 0}, {"68", "102", 0}, {"102", "136", 0}, {"136", "170", 0},
		{"170", "204", 0}, {"204", "238", 0}, {"238", "265", 100}}
	if !reflect.DeepEqual(bins, want) {
		t.Errorf("%+v", bins)
	}
	if bins := lookAt(t, []byte{5, 5, 5}, Options{Record: format.Spec{Type: "i8"}}).Scan.Histogram; len(bins) != 1 {
		t.Errorf("of one value: %+v", bins)
	}
	infinite := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Inf(1)))
	if bins := lookAt(t, infinite, Options{Record: format.Spec{Type: "f64"}}).Scan.Histogram; len(bins) > 0 {
		t.Errorf("of an infinity: %+v", bins)
	}
}

func TestNaNs(t *testing.T) {
	values := []float64{math.NaN(), math.Copysign(math.NaN(), -1), math.Inf(1), math.Inf(-1), 0, math.MaxFloat64}
	for _, key := range []string{"0:f64be", "0:f64be:desc"} {
		var data []byte
		for _, v := range values {
			data = binary.BigEndian.AppendUint64(data, math.Float64bits(v))
		}
		r := lookAt(t, data, Options{Record: format.Spec{RecordSize: 8, Keys: []string{key}}})
		if r.Scan.NaNs != 2 || r.Scan.Records != 6 {
			t.Errorf("%s: %+v", key, r.Scan)
		}
	}
}

// TestAFileAStreamAndACompressedFileAreTheSame checks that all records are examined for all kinds
// of input.
func TestAFileAStreamAndACompressedFileAreTheSame(t *testing.T) {
	data := newKeyed(newRandom(t), 300_000, "random") // more than a head
	zipped := formattest.Compress(t, data, format.Gzip)
	opt := Options{Record: keyedSpec, All: true}
	want := lookAt(t, data, opt)
	for name, r := range map[string]io.Reader{
		"stream": bytes.NewReader(data), "compressed": bytes.NewReader(zipped),
	} {
		got, err := Inspect(t.Context(), "-", r, opt)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Scan, want.Scan) || got.Records != want.Records || got.DataBytes != int64(len(data)) {
			t.Errorf("%s: %+v, want %+v", name, got.Scan, want.Scan)
		}
	}
	if got := lookAt(t, zipped, opt); !reflect.DeepEqual(got.Scan, want.Scan) || got.Compression != "gzip" {
		t.Errorf("compressed file: %+v", got)
	}
	opt.All = false
	got, err := Inspect(t.Context(), "-", bytes.NewReader(data), opt)
	if err != nil || got.Scan.All || !got.Scan.Start || got.Scan.Records != headBytes/keyedSize {
		t.Errorf("the start of a stream: %+v, %v", got.Scan, err)
	}
}

// TestSkippedBytes checks that skipped bytes have no effect, in a file, a stream and a compressed
// file.
func TestSkippedBytes(t *testing.T) {
	data := structured(newRandom(t), 24, 500)
	for _, spec := range []format.Spec{{}, {RecordSize: 24, Keys: []string{"0:u32be"}}} {
		want := lookAt(t, data, Options{Record: spec})
		for _, skip := range []int64{1, 7, 5000} {
			long, opt := append(make([]byte, skip), data...), Options{Record: spec, SkipBytes: skip}
			if skip > 1 {
				long, opt.SkipTail = append(long, make([]byte, skip-1)...), skip-1
			}
			if skip == 5000 && spec.RecordSize > 0 {
				opt.Records, opt.SkipTail = 500, 0
			}
			stream, err := Inspect(t.Context(), "-", bytes.NewReader(long), opt)
			if err != nil {
				t.Fatal(err)
			}
			zipped := lookAt(t, formattest.Compress(t, long, format.Gzip), opt)
			for _, got := range []*Report{lookAt(t, long, opt), zipped, stream} {
				got.File, got.Bytes, got.Compression = want.File, want.Bytes, ""
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%d bytes skipped: %+v, want %+v", skip, got, want)
				}
			}
		}
	}
	r := lookAt(t, data, Options{Record: format.Spec{Type: "u8"}, SkipBytes: int64(len(data)) + 1})
	if r.DataBytes != 0 || r.Container != "empty" || r.Records != 0 {
		t.Errorf("more is skipped than there is: %+v", r)
	}
}

// A counter counts the bytes read.
type counter struct {
	io.ReaderAt
	bytes int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	c.bytes += int64(len(p))
	return c.ReaderAt.ReadAt(p, off)
}

// TestASampleReadsLittle examines a file of 1 TiB that consists mostly of a hole.
func TestASampleReadsLittle(t *testing.T) {
	const size = 1 << 40
	file := testfiles.Create(t, filepath.Join(t.TempDir(), "large"))
	if err := file.Truncate(size); err != nil {
		t.Skipf("no file of 1 TiB here: %v", err)
	}
	for _, spec := range []format.Spec{{}, {Type: "u64"}, {RecordSize: 1 << 20, Keys: []string{"5:u32"}}} {
		src, err := open(t.Context(), file.Name(), nil, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		read := &counter{ReaderAt: src.reader}
		src.reader = read
		l := &inspection{Options: Options{Record: spec}, src: src, report: &Report{Records: -1}}
		l.recognise()
		l.readHeader()
		err = l.inspectRecords(context.Background())
		if err != nil || read.bytes > 256<<20 || spec.Type == "u64" && (read.bytes > 8<<20 || l.report.Scan.All) {
			t.Errorf("%+v: %d bytes are read, %v", spec, read.bytes, err)
		}
		if spec.Type == "u64" && l.report.Scan.Records < 100_000 {
			t.Errorf("only %d records are looked at", l.report.Scan.Records)
		}
		src.Close()
	}
}

func TestASampleIsFromAllOver(t *testing.T) {
	data := make([]byte, 64<<20)
	binary.LittleEndian.PutUint64(data[len(data)-8:], 5) // the last record
	binary.LittleEndian.PutUint64(data[40<<20:], 1)      // in the middle, probably not in the sample
	s := lookAt(t, data, Options{Record: format.Spec{Type: "u64"}}).Scan
	if s.All || s.Max != "5" || !s.Sorted {
		t.Errorf("%+v", s)
	}
	s = lookAt(t, data, Options{Record: format.Spec{Type: "u64"}, All: true}).Scan
	if !s.All || s.Sorted || s.Disorder.Record != 40<<17+1 || s.Records != 8<<20 {
		t.Errorf("%+v", s)
	}
	if s.SampleKeys < maxSampleKeys/2 || s.SampleKeys > maxSampleKeys {
		t.Errorf("%d keys are kept", s.SampleKeys)
	}
}

func TestErrors(t *testing.T) {
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "missing"), ""} {
		if _, err := Inspect(t.Context(), name, nil, Options{}); err == nil {
			t.Errorf("%q is no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	name := testfiles.Temp(t, "in", make([]byte, 80))
	if _, err := Inspect(ctx, name, nil, Options{Record: format.Spec{Type: "u64"}}); err == nil {
		t.Error("a cancelled look is no error")
	}
}
