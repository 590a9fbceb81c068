//go:build opencl && cgo && linux

package algo

import (
	"cmp"

	"github.com/extsort/extsort/device/opencl/cl"
)

// counting runs the passes of the sorts that count, scan and move. A work-group counts the digits
// of its part of the keys in one column of a table. The scan of the rows returns the target of
// each digit of each part, and the keys move there.
type counting struct {
	geometry
	sections int64 // maximum number of work-groups, each with several tiles; 0: one per tile
	scanner  *scanner
	count    *cl.Kernel
	moving   *cl.Kernel

	table   func(n, groups int64) int64 // length of the table; nil: one column per group
	sorting bool                        // count also sorts each tile, into the other buffers
	// The scan of each row starts from the histogram of all keys.
	byRow bool
}

func buildCounting(
	b *builder,
	g geometry,
	kernel func(string) *cl.Kernel,
	count, moving string,
) *counting {
	return &counting{
		geometry: g,
		scanner:  buildScanner(b),
		count:    kernel(count),
		moving:   kernel(moving),
	}
}

func (c *counting) sort(r *run, digits []digit, bases *cl.Buffer) {
	groups := c.groupsFor(r.d.N)
	if c.sections > 0 {
		groups = min(groups, c.sections)
	}
	length := groups * c.radix()
	if c.table != nil {
		length = c.table(r.d.N, groups)
	}
	table := r.offsetBuffer("table", length)
	for _, digit := range digits {
		args := []any{table, r.keyCount(), uint32(digit.shift), digit.mask}
		if c.sorting {
			r.launchAndSwap(c.count, groups, c.groupSize, args...)
		} else {
			r.launch(
				c.count,
				groups,
				c.groupSize,
				append([]any{r.d.Keys}, args...)...,
			)
		}
		if c.byRow {
			rows := int64(digit.place) * c.radix() // of bases; there, row i of the table begins
			r.launch(
				c.scanner.rows,
				c.radix(),
				c.scanner.size,
				table,
				bases,
				uint64(rows),
				uint64(groups),
			)
		} else {
			c.scanner.scan(r, table, length)
		}
		r.launchAndSwap(c.moving, groups, c.groupSize, args...)
	}
}

// buildHaradaHowes builds the sort of Harada and Howes: with digits of up to 8 bits
// (count_scan_reorder.cl), or in its published form with 4 bits (count_scan_reorder_4.cl).
func buildHaradaHowes(b *builder, p Params) passes {
	if p.DigitBits == 4 {
		return buildPublished(b, p)
	}
	return buildCountScanReorder(b, p)
}

// countScanReorderShape returns the shape. By default, 256 work-items with 16 keys each fit the
// 48 KiB of local memory on NVIDIA devices, masks included, and leave room for several
// work-groups per unit. Every device supports masks.
func countScanReorderShape(dev *cl.Device, p Params, v variant) ranked {
	return newRanked(dev, p, v, cmp.Or(p.Ranking, RankMasks), 256, 16)
}

func buildCountScanReorder(b *builder, p Params) *counting {
	s := countScanReorderShape(b.device(), p, b.v)
	c := buildCounting(
		b,
		s.geometry,
		s.program(b, nil, "rank", "count_scan_reorder"),
		"count",
		"reorder",
	)
	c.sections = cmp.Or(int64(p.Groups), sections(b.device(), 8))
	c.byRow = true
	return c
}

func buildPublished(b *builder, p Params) *counting {
	g := geometry{
		groupSize: 64,
		items:     4,
		digitBits: 4,
	}
	c := buildCounting(
		b,
		g,
		b.program(g, nil, "count_scan_reorder_4"),
		"count_items",
		"reorder_packed",
	)
	c.sections = cmp.Or(int64(p.Groups), sections(b.device(), 16))
	return c
}

// buildSplit builds Dillhoff's sort, split.cl. With digits of 1 bit, it uses the kernels without
// local buckets, whose table has one entry for each key and one for the sum.
func buildSplit(b *builder, p Params) passes {
	g := tiledShape(b, p)
	kernel := b.program(g, nil, "localsplit", "split")
	if g.digitBits > 1 {
		return buildCounting(b, g, kernel, "split_count", "split_buckets")
	}
	c := buildCounting(b, g, kernel, "split_bits", "split_scatter")
	c.sections, c.table = sections(b.device(), 16), func(n, _ int64) int64 {
		return n + 1
	}
	return c
}

// buildTile builds the sort that Koppelman analyzes, tile.cl. His h, e and B are DigitBits, Items
// and GroupSize.
func buildTile(b *builder, p Params) passes {
	g := tiledShape(b, p)
	c := buildCounting(
		b,
		g,
		b.program(g, nil, "localsplit", "tile"),
		"tile_sort",
		"tile_scatter",
	)
	c.sorting = true
	return c
}

// tiledShape returns the shape of the sorts that use localsplit.cl within tiles. The default
// tiles are Koppelman's examples; the default digits follow from the cost model.
func tiledShape(b *builder, p Params) geometry {
	g := geometry{groupSize: cmp.Or(
		p.GroupSize, min(256, b.device().MaxGroup),
	), items: cmp.Or(p.Items, 4),
		digitBits: cmp.Or(p.DigitBits, maxDigitBits)}
	local := g.tile()*12 + 8*int64(g.groupSize) + 4*g.radix() + 64
	b.check(g, limits{
		digitBits:     maxDigitBits,
		groupMultiple: 1,
		localBytes:    local,
	})
	return g.withDigit(p, b.v, upTo(maxDigitBits))
}

const (
	binningLanes = 32  // work-items per chunk
	binningChunk = 256 // keys per chunk, which has a column of its own
)

var binningBits = []int{2, 4}

// buildBinning builds the sort of Intel's tutorial, binning.cl, with 4 bins (DigitBits 2) or 16
// bins (DigitBits 4).
func buildBinning(b *builder, p Params) passes {
	g := geometry{
		groupSize: cmp.Or(p.GroupSize, 128),
		items:     binningChunk / binningLanes,
	}
	g = g.withDigit(p, b.v, binningBits)
	b.fail(checkDigit("binning", binningBits, p.DigitBits))
	b.check(
		g,
		limits{4, binningLanes, binningLanes, int64(g.groupSize/binningLanes) << 10},
	)
	c := buildCounting(
		b,
		g,
		b.program(g, nil, "binning"),
		"binning_count",
		"binning_move",
	)
	c.table = func(n, _ int64) int64 {
		return (n + binningChunk - 1) / binningChunk * g.radix()
	}
	return c
}

// A scanner computes exclusive scans of tables on the device, see scan.cl.
type scanner struct {
	size                         int // work-items per work-group
	groups                       int64
	single, sums, sections, rows *cl.Kernel
}

// scanSingle is the length of the longest table that a single work-group scans.
const scanSingle = 1 << 16

func buildScanner(b *builder) *scanner {
	size := min(256, b.device().MaxGroup)
	kernel := b.program(geometry{
		groupSize: size,
		items:     1,
		digitBits: 1,
	}, nil, "scan")
	return &scanner{size: size, groups: min(
		sections(b.device(), 8), scanSingle,
	), single: kernel("scan_single"),
		sums: kernel("scan_sums"), sections: kernel("scan_sections"), rows: kernel("scan_rows")}
}

// scan scans a table of any length in place.
func (s *scanner) scan(r *run, table *cl.Buffer, length int64) {
	if length <= scanSingle {
		r.launch(s.single, 1, s.size, table, uint64(length))
		return
	}
	sums := r.offsetBuffer("sums", s.groups)
	r.launch(s.sums, s.groups, s.size, table, sums, uint64(length))
	r.launch(s.single, 1, s.size, sums, uint64(s.groups))
	r.launch(s.sections, s.groups, s.size, table, sums, uint64(length))
}
