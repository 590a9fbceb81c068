package chunker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// window is the window size of the decompressors in these tests.
const window = 8 << 20

var words = format.Spec{Type: "u64"}

func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	return testfiles.Temp(t, "in", data)
}

func openData(t testing.TB, spec format.Spec, names []string, stdin io.Reader) Dataset {
	t.Helper()
	if len(names) == 0 {
		names = []string{input.Stdin}
	}
	inputs, err := input.Open(t.Context(), input.Kind{Spec: spec}, input.Named(names...), stdin, window)
	if err != nil {
		t.Fatal(err)
	}
	d := NewDataset(inputs)
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// readSource reads a source to its end, by several goroutines that ask for up to most records at
// a time.
func readSource(src device.Source, size, most, workers int) ([]byte, error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	var all []byte
	var faults []error
	for range workers {
		group.Go(func() {
			for {
				buffer := make([]byte, most*size)
				first, n, err := src.Next(most, func(int64, int) []byte { return buffer })
				mu.Lock()
				if err != nil {
					faults = append(faults, err)
				}
				if n == 0 || err != nil {
					mu.Unlock()
					return
				}
				if end := (int(first) + n) * size; end > len(all) {
					all = append(all, make([]byte, end-len(all))...)
				}
				copy(all[int(first)*size:], buffer[:n*size])
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return all, errors.Join(faults...)
}

// readByCut reads a dataset in chunks of chunkRecords.
func readByCut(d Dataset, size int, chunkRecords int64, most, workers int) ([]byte, error) {
	var all []byte
	for {
		src, err := d.Cut(chunkRecords)
		if src == nil || err != nil {
			return all, err
		}
		recs, err := readSource(src, size, most, workers)
		if err != nil {
			return all, err
		}
		all = append(all, recs...)
	}
}

// opened is one way to get the same 1000 records.
type opened struct {
	name string
	open func(t *testing.T) Dataset
	live bool // a stream, which can be read only once
}

const openedRecords = 1000

// everyDataset has all kinds of Dataset: files of one and of several pieces, with and without a
// header, streams of one and of several inputs, and parts of a partition.
func everyDataset() []opened {
	all := formattest.Numbered(0, openedRecords)
	pieces := func(t *testing.T) []string { // an empty file among them, and borders anywhere
		return []string{writeFile(t, all[:8*333]), writeFile(t, nil), writeFile(t, all[8*333:8*334]), writeFile(t,
			all[8*334:])}
	}
	sosd := append(binary.LittleEndian.AppendUint64(nil, openedRecords), all...)
	return []opened{
		{"file", func(t *testing.T) Dataset { return openData(t, words, []string{writeFile(t, all)}, nil) }, false},
		{"files", func(t *testing.T) Dataset { return openData(t, words, pieces(t), nil) }, false},
		{"sosd file", func(t *testing.T) Dataset {
			return openData(t, format.Spec{Format: "sosd", Type: "u64"}, []string{writeFile(t, sosd)}, nil)
		}, false},
		{"stream", func(t *testing.T) Dataset { return openData(t, words, nil, &slowReader{all}) }, true},
		{"sosd stream", func(t *testing.T) Dataset {
			return openData(t, format.Spec{Format: "sosd", Type: "u64"}, nil, &slowReader{sosd})
		}, true},
		{"streams and files", func(t *testing.T) Dataset {
			names := pieces(t)
			names[2] = writeFile(t, formattest.Compress(t, all[8*333:8*334], format.Zstd))
			names[1] = input.Stdin
			return openData(t, words, names, &slowReader{})
		}, true},
		{"members", func(t *testing.T) Dataset {
			members := formattest.Compress(t, all[:1000], format.Gzip) // cut within no record
			members = append(members, formattest.Compress(t, all[1000:], format.Gzip)...)
			return openData(t, words, []string{writeFile(t, members)}, nil)
		}, true},
		{"part", func(t *testing.T) Dataset {
			parts := scatterAll(t, all, NewClassifier(nil, 1), 2)
			return parts[0]
		}, false},
	}
}

// slowReader delivers a few bytes at a time, never a whole number of records.
type slowReader struct{ data []byte }

func (s *slowReader) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 13)], s.data)
	s.data = s.data[n:]
	return n, nil
}

func TestDatasetCut(t *testing.T) {
	for _, o := range everyDataset() {
		for _, chunk := range []int64{1, 7, 333, 334, 999, 1000, 1001, 1 << 40} {
			for _, ahead := range []int{0, 1, 10, 5000} { // records that a sample has read before
				d := o.open(t)
				if ahead > 0 {
					if _, err := d.Sample(t.Context(), formattest.Keyer(t, words), ahead); err != nil {
						t.Fatal(err)
					}
				}
				workers := 3
				if chunk == 1 {
					workers = 1
				}
				got, err := readByCut(d, 8, chunk, 50, workers)
				if err != nil || !bytes.Equal(got, formattest.Numbered(0, openedRecords)) {
					t.Errorf("%s in chunks of %d after a sample of %d: %d bytes, error %v", o.name, chunk, ahead, len(got), err)
				}
				if err := d.Check(noWarning(t)); err != nil {
					t.Errorf("%s: %v", o.name, err)
				}
			}
		}
	}
}

func TestDatasetSplit(t *testing.T) {
	for _, o := range everyDataset() {
		for _, n := range []int{1, 2, 7, 999, 5000} {
			d := o.open(t)
			if _, err := d.Sample(t.Context(), formattest.Keyer(t, words), 20); err != nil {
				t.Fatal(err)
			}
			sources := d.Split(n)
			if len(sources) < 1 || len(sources) > n {
				t.Errorf("%s: Split(%d) gives %d sources", o.name, n, len(sources))
			}
			var got []byte
			for _, src := range sources {
				known := src.Records()
				recs, err := readSource(src, 8, 64, 2)
				if err != nil {
					t.Fatal(err)
				}
				if known >= 0 && known != int64(len(recs)/8) {
					t.Errorf("%s: a source of %d records delivered %d", o.name, known, len(recs)/8)
				}
				got = append(got, recs...)
			}
			if !bytes.Equal(got, formattest.Numbered(0, openedRecords)) {
				t.Errorf("%s split in %d: the records differ", o.name, n)
			}
		}
	}
}

// TestDatasetSample expects samples in order of position that hold no more than was asked for.
func TestDatasetSample(t *testing.T) {
	for _, o := range everyDataset() {
		for _, n := range []int{1, 2, 5, 16, 17, 100, 999, 1000, 4000} {
			sample, err := o.open(t).Sample(t.Context(), formattest.Keyer(t, words), n)
			if err != nil {
				t.Fatal(err)
			}
			got := len(sample.Prefixes)
			if got < 1 || got > n || n >= openedRecords && got != openedRecords {
				t.Errorf("%s: a sample of %d has %d records", o.name, n, got)
			}
			last := -1
			for _, key := range sample.Prefixes {
				at := int(key)
				if at <= last && n >= 16 || at >= openedRecords {
					t.Fatalf("%s: sample of %d: record %d follows record %d", o.name, n, at, last)
				}
				last = at
			}
			if n >= 100 && !o.live && last < openedRecords-100 {
				t.Errorf("%s: a sample of %d ends at record %d", o.name, n, last)
			}
		}
	}
}

func TestDatasetRecords(t *testing.T) {
	for _, o := range everyDataset() {
		want := int64(openedRecords)
		if o.live && o.name != "sosd stream" {
			want = -1
		}
		if got := o.open(t).Records(); got != want {
			t.Errorf("%s: %d records, want %d", o.name, got, want)
		}
	}
}

// prefixesOf is the keys of 8-byte records.
func prefixesOf(t *testing.T, recs []byte) []uint64 {
	t.Helper()
	prefixes := make([]uint64, len(recs)/8)
	formattest.Keyer(t, words).Prefixes(prefixes, recs)
	return prefixes
}

// TestEmptyDatasets checks that datasets without records are not an error.
func TestEmptyDatasets(t *testing.T) {
	empty := map[string]Dataset{
		"file":  openData(t, words, []string{writeFile(t, nil)}, nil),
		"files": openData(t, words, []string{writeFile(t, nil), writeFile(t, nil)}, nil),
		"pipe":  openData(t, words, nil, strings.NewReader("")),
		"gzip":  openData(t, words, nil, bytes.NewReader(formattest.Compress(t, nil, format.Gzip))),
		"part":  scatterAll(t, nil, NewClassifier(nil, 1), 2)[0],
	}
	for name, d := range empty {
		sample, err := d.Sample(t.Context(), formattest.Keyer(t, words), 10)
		if err != nil || len(sample.Prefixes) != 0 {
			t.Errorf("%s: sample of %d keys, error %v", name, len(sample.Prefixes), err)
		}
		if src, err := d.Cut(10); src != nil || err != nil {
			t.Errorf("%s: Cut gives %v, error %v", name, src, err)
		}
		for _, src := range d.Split(3) {
			if recs, err := readSource(src, 8, 4, 1); len(recs) != 0 || err != nil {
				t.Errorf("%s: Split has %d bytes, error %v", name, len(recs), err)
			}
		}
		if err := d.Check(noWarning(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPartitionCutCombinesBlocks checks that Partition.Cut combines several small blocks up to the
// requested size.
func TestPartitionCutCombinesBlocks(t *testing.T) {
	k := formattest.KeyerOf(t, format.Bare(format.Type{Kind: format.Unsigned, Size: 4}))
	recs := make([]byte, 4*1050)
	for i := range recs {
		recs[i] = byte(i * 7)
	}
	p := &Partition{Run: spill.MemoryRun(k, recs, 100)}
	src, err := p.Cut(1050)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	var units []int
	for {
		unit := make([]byte, 4*350)
		first, n, err := src.Next(350, func(first int64, n int) []byte { return unit[:4*n] })
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if int(first) != len(got)/4 {
			t.Errorf("records from %d on follow %d", first, len(got)/4)
		}
		got, units = append(got, unit[:4*n]...), append(units, n)
	}
	if !bytes.Equal(got, recs) || !slices.Equal(units, []int{300, 300, 300, 150}) {
		t.Errorf("units of %v records, want 300, 300, 300 and 150, with the records as they are", units)
	}
}
