package extsort

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestKeptIsNotSpilled sorts a little more than memory holds: the last chunk is not spilled, and the plan says so.
func TestKeptIsNotSpilled(t *testing.T) {
	r := seeded(t)
	const chunk = testChunkRecords
	for _, name := range []string{"u64", "gensort"} {
		k := kindNamed(name)
		size := k.layout(t).RecordSize
		for _, n := range []int{chunk + 1, chunk + chunk/5, 2*chunk - 1, 2 * chunk, 2*chunk + 1, 5*chunk + 7} {
			data := k.make(t, "uniform", n, r)
			want := reference(t, k.layout(t), data, Options{})
			opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none"})

			file := opt
			file.Inputs = []string{writeFile(t, data)}
			report := checkSort(t, k, data, want, file)
			if due := int64((n - chunk) * size); report.BytesSpilled != due || report.Plan.TempBytes != due {
				t.Errorf("%s, %d records: %d bytes were spilled, %d planned, %d are due", name, n, report.BytesSpilled, report.Plan.TempBytes, due)
			}
			if kept := report.Plan.KeptBytes; kept != int64(chunk*size) {
				t.Errorf("%s, %d records: %d bytes are planned to stay", name, n, kept)
			}

			opt.Stdin = bytes.NewReader(data)
			report = checkSort(t, k, data, want, opt)
			if due := int64((n - 1) / chunk * chunk * size); report.BytesSpilled != due {
				t.Errorf("%s, a stream of %d records: %d bytes were spilled, %d are due", name, n, report.BytesSpilled, due)
			}
		}
	}
}

// TestKeepOnlyWhatOneMergeTakes has as many runs as one merge may take, and one more: then all are spilled.
func TestKeepOnlyWhatOneMergeTakes(t *testing.T) {
	r := seeded(t)
	k := kindNamed("u64")
	for runs, due := range map[int]int64{3: 2, 4: 4 + 2} { // chunks that are spilled; of four, two are merged first
		data := k.make(t, "uniform", runs*testChunkRecords, r)
		opt := small(Options{Record: k.spec, Strategy: MergeRuns, SpillCompress: "none", BatchSize: 3, Inputs: []string{writeFile(t, data)}})
		report := checkSort(t, k, data, reference(t, k.layout(t), data, Options{}), opt)
		if spilled := report.BytesSpilled / (8 * testChunkRecords); spilled != due {
			t.Errorf("%d runs: %d chunks were spilled, %d are due", runs, spilled, due)
		}
	}
}

// countedSource is a device.Source of so many records that nobody reads.
type countedSource struct {
	device.Source
	records int64
}

func (s countedSource) Records() int64 { return s.records }

// countedData is data of which only the number of records matters.
type countedData struct {
	watchDataset
	left, known int64
}

func (d *countedData) Records() int64 { return d.known }

func (d *countedData) Cut(maxRecords int64) (device.Source, error) {
	n := min(maxRecords, d.left)
	if d.left -= n; n == 0 {
		return nil, nil
	}
	return countedSource{records: n}, nil
}

// TestCuts cuts any number of records into chunks: they are complete, none is larger than it may be, they are as many
// as planned, and the last can stay unless there are very many.
func TestCuts(t *testing.T) {
	r := seeded(t)
	j, err := newJob(t.Context(), Options{Record: kindNamed("u64").spec, Stdin: &bytes.Reader{}, MemoryBytes: 40 << 20, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	s := &sorting{job: j}
	for range 2000 {
		n := j.capacity + 1 + r.Int64N(j.capacity<<r.IntN(6))
		plan := j.cut(n)
		if plan.stays > plan.chunk || plan.chunk > j.capacity || plan.stays == 0 && plan.runs < 10 {
			t.Fatalf("%d records in chunks of %d at most are cut as %+v", n, j.capacity, plan)
		}
		sizes := cutAll(t, s, &countedData{left: n, known: n})
		last := sizes[len(sizes)-1]
		if len(sizes) != plan.runs || plan.stays > 0 && last != plan.stays {
			t.Fatalf("%d records, %+v: chunks of %v", n, plan, sizes)
		}
		sum := int64(0)
		for _, size := range sizes {
			if sum += size; size > plan.chunk {
				t.Fatalf("%d records, %+v: chunks of %v", n, plan, sizes)
			}
		}
		if sum != n {
			t.Fatalf("%d records, %+v: chunks of %v have %d", n, plan, sizes, sum)
		}
	}
}

// TestCutsOfStream cuts a stream: whenever it ends, its last chunk can stay.
func TestCutsOfStream(t *testing.T) {
	j, err := newJob(t.Context(), Options{Record: kindNamed("u64").spec, Stdin: &bytes.Reader{}, MemoryBytes: 400 << 20, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	sizes := cutAll(t, &sorting{job: j}, &countedData{left: 6 * j.capacity, known: -1})
	if sizes[0] != j.capacity {
		t.Errorf("the first chunk has %d records, not the %d that fit memory", sizes[0], j.capacity)
	}
	for i, size := range sizes[1:] {
		if size > j.staying(i+2) {
			t.Errorf("chunk %d has %d records, %d could stay", i+1, size, j.staying(i+2))
		}
	}
}

func cutAll(t *testing.T, s *sorting, data *countedData) []int64 {
	t.Helper()
	cuts := s.cutsOf(data)
	var sizes []int64
	for {
		src, err := cuts.next(data)
		if err != nil {
			t.Fatal(err)
		}
		if src == nil {
			return sizes
		}
		if sizes = append(sizes, src.Records()); len(sizes) > 1000 {
			t.Fatal(fmt.Sprint("no end of chunks: ", sizes[:10]))
		}
	}
}
