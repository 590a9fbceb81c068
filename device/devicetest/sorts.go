package devicetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

var (
	u32   = format.Bare(format.Type{Kind: format.Unsigned, Size: 4})
	u64   = format.Bare(format.Type{Kind: format.Unsigned, Size: 8})
	rec16 = records(16, "0:u64")
)

func testInfo(t *testing.T, d device.Device) {
	info := d.Info()
	if info.Name == "" || info.Kind == "" || info.Units < 1 ||
		len(info.Algorithms) == 0 {
		t.Errorf("incomplete: %+v", info)
	}
}

// testCapabilities compares the capabilities of the device with the behavior of its chunks, for
// each layout.
func testCapabilities(t *testing.T, d device.Device) {
	for name, l := range layouts() {
		c := Case{Layout: l, Recs: uniform(l, 1000, random())}
		k := keyer(t, l)
		opt := c.options(k)
		can := d.Capabilities(opt)
		blocks := d.BlockBytes(opt, opt.Records)
		if blocks < l.RecordSize ||
			blocks > opt.BlockBytes {
			t.Errorf(
				"%s: stored in blocks of %d bytes, asked for %d",
				name,
				blocks,
				opt.BlockBytes,
			)
		}
		if can.Histogram && d.MaxRecords(opt, 1<<30) < 1<<40 {
			t.Errorf(
				"%s: a histogram holds %d records",
				name,
				d.MaxRecords(opt, 1<<30),
			)
		}
		chunk := open(t, d, opt)
		_, _, err := chunk.Select(context.Background(), &Source{
			Recs: c.Recs,
			Size: l.RecordSize,
		}, 0, math.MaxUint64)
		if err != nil &&
			(can.Selects || !errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf(
				"%s: select: %v, the device says %t", name, err, can.Selects,
			)
		}
		if can.Selects && can.SelectSeconds <= 0 {
			t.Errorf(
				"%s: SelectSeconds is %v", name, can.SelectSeconds,
			)
		}
		if err := chunk.Close(); err != nil {
			t.Error(err)
		}
	}
}

// testLayouts sorts each layout with each distribution. Short tests sort each layout with a quarter of
// the distributions, which take turns.
func testLayouts(t *testing.T, d device.Device) {
	all := layouts()
	dists := slices.Sorted(maps.Keys(Distributions))
	for i, name := range slices.Sorted(maps.Keys(all)) {
		l := all[name]
		t.Run(name, func(t *testing.T) {
			for j, dist := range dists {
				if testing.Short() && (i+j)%4 != 0 {
					continue
				}
				generate := Distributions[dist]
				recs := generate(l, fewer(700), random())
				t.Run(dist, func(t *testing.T) {
					Check(t, d, Case{
						Layout: l,
						Recs:   recs,
						Sample: Sampled(l, recs, 50),
						Limit:  -1,
					})
				})
			}
		})
	}
}

func testSizes(t *testing.T, d device.Device) {
	sizes := []int{0, 1, 2, 3, 12, 13, 14, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025,
		16383, 16384, 16385, 32767, 32768, 32769, 65535, 65536, 65537, 131071, 131073}
	if testing.Short() {
		sizes = slices.DeleteFunc(sizes, func(n int) bool { return n > 32769 })
	}
	for name, l := range map[string]format.Layout{
		"u32":   u32,
		"u64":   u64,
		"rec16": rec16,
	} {
		recs := uniform(l, sizes[len(sizes)-1], random())
		for _, n := range sizes {
			t.Run(fmt.Sprintf("%s/n=%d", name, n), func(t *testing.T) {
				recs := recs[:n*l.RecordSize]
				Check(t, d, Case{
					Layout: l,
					Recs:   recs,
					Sample: Sampled(l, recs, 100),
					Limit:  -1,
				})
			})
		}
	}
}

// testDistributions sorts enough records that every device needs more than one tile, bucket or
// block.
func testDistributions(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{
		"u32": u32, "u64": u64, "rec16": rec16, "u8": format.Bare(format.Type{Size: 1}),
		"f64": format.Bare(format.Type{Kind: format.Float, Size: 8}),
	} {
		for dist, generate := range Distributions {
			t.Run(name+"/"+dist, func(t *testing.T) {
				recs := generate(l, fewer(100_000), random())
				Check(t, d, Case{
					Layout: l,
					Recs:   recs,
					Sample: Sampled(l, recs, 1000),
					Limit:  -1,
				})
			})
		}
	}
}

// testPrefixes sorts wide keys that share their first bytes, in small and large groups.
func testPrefixes(t *testing.T, d device.Device) {
	l := records(48, "4:bytes40")
	for _, shared := range []int{3, 8, 17, 38, 39} {
		for _, groups := range []int{1, 2, 1000} {
			t.Run(fmt.Sprintf(
				"shared=%d/groups=%d", shared, groups,
			), func(t *testing.T) {
				r := random()
				recs := uniform(l, fewer(20_000), r)
				shareprefixes(recs, l, shared, groups, r)
				Check(t, d, Case{
					Layout: l,
					Recs:   recs,
					Sample: Sampled(l, recs, 100),
					Limit:  -1,
				})
			})
		}
	}
}

func shareprefixes(
	recs []byte,
	l format.Layout,
	shared, groups int,
	r *rand.Rand,
) {
	pool := uniform(l, groups, r)
	at := l.Key[0].Offset
	for i := 0; i < len(recs); i += l.RecordSize {
		copy(recs[i+at:i+at+shared], pool[r.IntN(groups)*l.RecordSize:])
	}
}

// testSamples uses samples that are empty, tiny, or of other data.
func testSamples(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{
		"u32":   u32,
		"u64":   u64,
		"rec16": rec16,
	} {
		recs := uniform(l, fewer(100_000), random())
		greatest := ^uint64(0) >> (64 - 8*min(8, l.KeySize()))
		for sample, prefixes := range map[string][]uint64{
			"none":   nil,
			"one":    Sampled(l, recs, 1),
			"zeros":  {0, 0},
			"ones":   {greatest},
			"narrow": {1 << 20, 1<<20 + 1000},
			"twice":  {77, 77},
		} {
			t.Run(name+"/"+sample, func(t *testing.T) {
				Check(t, d, Case{
					Layout: l,
					Recs:   recs,
					Sample: prefixes,
					Limit:  -1,
				})
			})
		}
		t.Run(name+"/sortedWithout", func(t *testing.T) {
			Check(t, d, Case{
				Layout: l,
				Recs:   Sorted(l, recs),
				Limit:  -1,
			})
		})
	}
}

func testUnknownSize(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{"u32": u32, "u64": u64, "rec16": rec16,
		"rec7": records(7, "3:u16be:desc", "0:i8")} {
		for _, n := range []int{0, 1, 1000, fewer(100_000)} {
			for _, units := range [][]int{{1 << 30}, {1, 7, 1000, 3}, {4096}} {
				t.Run(fmt.Sprintf(
					"%s/n=%d/units=%d", name, n, units,
				), func(t *testing.T) {
					Check(t, d, Case{
						Layout: l,
						Recs:   uniform(l, n, random()),
						Units:  units,
						Limit:  -1,
					})
				})
			}
		}
	}
}

// testShortBlocks uses sources that know their size and deliver fewer records than a device has
// room for.
func testShortBlocks(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{"u32": u32, "u64": u64, "rec16": rec16,
		"rec7": records(7, "3:u16be:desc", "0:i8")} {
		for _, dist := range []string{"uniform", "equal"} {
			for _, short := range [][]int{{1 << 30}, {1, 7, 1000, 3}, {4095}} {
				t.Run(fmt.Sprintf(
					"%s/%s/short=%d", name, dist, short,
				), func(t *testing.T) {
					recs := Distributions[dist](l, fewer(50_000), random())
					Check(t, d, Case{
						Layout: l,
						Recs:   recs,
						Sample: Sampled(l, recs, 500),
						Short:  short,
						Limit:  -1,
					})
				})
			}
		}
	}
}

func testLimit(t *testing.T, d device.Device) {
	for name, l := range map[string]format.Layout{"u64": u64, "rec16": rec16} {
		for _, dist := range []string{"uniform", "equal", "low"} {
			n := fewer(100_000)
			recs := Distributions[dist](l, n, random())
			all := int64(n)
			for _, limit := range []int64{0, 1, 9, all / 10, 65_537, all - 1, all, all + 1, 1 << 40} {
				t.Run(fmt.Sprintf(
					"%s/%s/limit=%d", name, dist, limit,
				), func(t *testing.T) {
					Check(t, d, Case{
						Layout: l,
						Recs:   recs,
						Sample: Sampled(l, recs, 500),
						Limit:  limit,
					})
				})
			}
		}
	}
}
