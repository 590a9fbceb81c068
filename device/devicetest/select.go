package devicetest

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// testSelect sorts in several passes, with chunks that have room for all records and with smaller
// ones.
func testSelect(t *testing.T, d device.Device) {
	layouts := map[string]format.Layout{"u32": u32, "u64": u64, "rec16": rec16, "rec12": records(12, "8:u32"),
		"pair": records(8, "4:u32")}
	types := []string{"bytes3", "f32", "u128", "u8", "i16be", "i64be", "f64", "bytes12"}
	if testing.Short() {
		types = types[:3] // with fewer records, there are no buckets to leave out
	}
	for _, name := range types {
		typ, err := format.ParseType(name)
		if err != nil {
			t.Fatal(err)
		}
		layouts[name] = format.Bare(typ)
	}
	for name, l := range layouts {
		for dist, generate := range Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				const n = 12_000
				recs := generate(l, n, random())
				for _, capacity := range []int64{n, n / 3} {
					for _, sample := range []int{5000, 50} { // a small sample is used as it is
						c := Case{
							Layout: l,
							Recs:   recs,
							Sample: Sampled(l, recs, sample),
						}
						checkSelect(
							t,
							d,
							c,
							capacity,
							dist == "uniform" && l.RecordSize > 2,
						)
					}
				}
				c := Case{
					Layout: l,
					Recs:   recs,
					Sample: Sampled(l, recs, 5000),
					Short:  []int{1000, 37},
				}
				checkSelect(t, d, c, n/3, dist == "uniform" && l.RecordSize > 2)
			})
		}
	}
}

// checkSelect sorts a case in passes of about equal size with a chunk of the given capacity in
// records, which is just too small for all of them. All passes use the sample of the case.
// manifold means that keys are almost all distinct.
func checkSelect(
	t *testing.T,
	d device.Device,
	c Case,
	capacity int64,
	manifold bool,
) {
	t.Helper()
	size := c.Layout.RecordSize
	k := keyer(t, c.Layout)
	opt := c.options(k)
	opt.Records = capacity
	chunk := open(t, d, opt)
	defer chunk.Close()
	want := Sorted(c.Layout, c.Recs)
	prefixes := make([]uint64, len(want)/size)
	k.Prefixes(prefixes, want)
	sample := slices.Clone(c.Sample)
	low := uint64(0)
	at := 0
	for {
		high := uint64(math.MaxUint64)
		if end := at + int(capacity)*11/10; end < len(prefixes) {
			high = max(low, prefixes[end])
		}
		src := &SampledSource{Source{
			Recs:  c.Recs,
			Size:  size,
			Short: c.Short,
		}, sample}
		n, last, err := chunk.Select(context.Background(), src, low, high)
		if errors.Is(err, errors.ErrUnsupported) &&
			!d.Capabilities(device.ChunkOptions{Keyer: k}).Selects {
			t.Skip("the device does not support Select")
		}
		if errors.Is(err, device.ErrTooMany) && !manifold {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sample, c.Sample) {
			t.Fatalf(
				"the sample of the source was changed in loading prefixes from %d to %d",
				low,
				high,
			)
		}
		if last > high || last < high && n > capacity {
			t.Fatalf(
				"%d records of prefixes from %d to %d were loaded, up to %d were asked for",
				n,
				low,
				last,
				high,
			)
		}
		end := at
		for end < len(prefixes) && prefixes[end] <= last {
			end++
		}
		if n != int64(end-at) {
			t.Fatalf(
				"%d records of prefixes from %d to %d were loaded, there are %d",
				n,
				low,
				last,
				end-at,
			)
		}
		compare(t, store(t, chunk, -1, size), want[at*size:end*size], size)
		if last == math.MaxUint64 {
			return
		}
		low = last + 1
		at = end
	}
}

// SampledSource is a Source with a sample of its records.
type SampledSource struct {
	Source
	Prefixes []uint64
}

// Sample returns the sample.
func (s *SampledSource) Sample() []uint64 { return s.Prefixes }
