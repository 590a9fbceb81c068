package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/device/opencl/algo"
)

// This file contains the views that have the shape of published tables.

var blockFactors = []int{1, 2, 4, 8, 16, 32}

// bainvilleCases returns the cases of Bainville's two tables ("OpenCL Sorting": ParallelSelection
// and its blocks).
func bainvilleCases(s Scope) []Case {
	settings := []setting{{label: "selection", algorithm: "selection"}}
	for _, f := range blockFactors {
		settings = append(
			settings,
			setting{"blocks/" + strconv.Itoa(f), "selection-blocks", algo.Params{BlockFactor: f}},
		)
	}
	return s.casesOf(s.sizes(), settings...)
}

// bainvilleTables returns one table of ParallelSelection, with columns for keys alone and for
// keys with values, and one table of blocks for each kind of key.
func bainvilleTables(results []Result) []Table {
	var tables []Table
	plain := filterResults(results, func(r Result) bool {
		return r.Algorithm == "selection"
	})
	for i := range plain {
		plain[i].Label = plain[i].Key.String()
	}
	for _, dist := range distsOf(plain) {
		one := filterResults(plain, func(r Result) bool { return r.Dist == dist })
		tables = append(
			tables, pivot("ParallelSelection, "+dist+", Mkeys/s", one),
		)
	}
	blocks := filterResults(results, func(r Result) bool {
		return r.Algorithm == "selection-blocks"
	})
	for i := range blocks {
		blocks[i].Label = strconv.Itoa(blocks[i].Params.BlockFactor)
	}
	for _, g := range groupResults(blocks) {
		title := fmt.Sprintf(
			"ParallelSelection_Blocks, %s, %s, Mkeys/s by BLOCK_FACTOR",
			g[0].Key,
			g[0].Dist,
		)
		tables = append(tables, pivot(title, g))
	}
	return tables
}

func distsOf(results []Result) []string {
	var list []string
	for _, g := range groupResults(results) {
		if !slices.Contains(list, g[0].Dist) {
			list = append(list, g[0].Dist)
		}
	}
	return list
}

// haradaCases returns the cases of figure 5 of Harada and Howes, "Introduction to GPU Radix Sort":
// the published kernels with 4-bit digits and, for comparison, 8-bit digits.
func haradaCases(s Scope) []Case {
	return s.casesOf(s.sizes(),
		setting{"4 bits", "count-scan-reorder", algo.Params{DigitBits: 4}},
		setting{"8 bits", "count-scan-reorder", algo.Params{DigitBits: 8}})
}

// intelCases returns cases of 2 and 4 bits. Intel's tutorial found 4 bits 30 % faster than 2.
func intelCases(s Scope) []Case {
	return s.casesOf(s.sizes(),
		setting{"2-bit", "binning", algo.Params{DigitBits: 2}},
		setting{"4-bit", "binning", algo.Params{DigitBits: 4}})
}

// intelTables returns tables with the gain of 4 bits over 2.
func intelTables(results []Result) []Table {
	tables := byGroup(results)
	for i, g := range groupResults(results) {
		rates := map[int64][2]float64{}
		for _, r := range g {
			both := rates[r.Records]
			both[min(r.Params.DigitBits/4, 1)] = r.Rate
			rates[r.Records] = both
		}
		t := &tables[i]
		t.Head = append(t.Head, "4-bit/2-bit")
		for at, n := range sizesOf(g) {
			t.Rows[at] = append(t.Rows[at], ratio(rates[n][1], rates[n][0]))
		}
	}
	return tables
}

// sizesOf returns the sizes of the results in order of appearance, which is the order of pivot's
// rows.
func sizesOf(results []Result) []int64 {
	var list []int64
	for _, r := range results {
		if !slices.Contains(list, r.Records) {
			list = append(list, r.Records)
		}
	}
	return list
}

func ratio(a, b float64) string {
	if a == 0 || b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// The parameters of Koppelman: tiles of 1024, 512, 256 and 128 elements with e = 4, values of h
// around the best ones, and the number of blocks.
var (
	koppelmanBlocks = []int{256, 128, 64, 32}
	koppelmanDigits = []int{2, 4, 5, 6, 7, 8}
)

const (
	koppelmanItems  = 4
	koppelmanGroups = 64
)

// koppelmanCases vary tile and digit at the largest size.
func koppelmanCases(s Scope) []Case {
	var settings []setting
	for _, group := range koppelmanBlocks {
		for _, bits := range koppelmanDigits {
			p := algo.Params{
				DigitBits: bits,
				Items:     koppelmanItems,
				GroupSize: group,
			}
			settings = append(
				settings,
				setting{fmt.Sprintf(
					"h=%d e=%d B=%d", bits, koppelmanItems, group,
				), "tile", p},
			)
		}
	}
	return s.casesOf([]int64{s.Max}, settings...)
}

// koppelmanTables compares the data movement according to the analysis with the data movement and
// the speed of tile.cl.
func koppelmanTables(results []Result) []Table {
	var tables []Table
	for _, g := range groupResults(results) {
		t := Table{
			Title: fmt.Sprintf(
				"tile, %s, %s, n = 2^%s",
				g[0].Key,
				g[0].Dist,
				log2(g[0].Records),
			),
			Head: []string{"h", "e", "B", "tile", "formula, M words", "moved, MB", "ms", "GB/s", "Mkeys/s"},
			Notes: []string{"formula: (4n + 2(n/eB)2^h + G²2^h + G2^h)·k/h elements and counters, with G = " +
				strconv.Itoa(koppelmanGroups) + "; moved: what these kernels move, with their scan"},
		}
		for _, r := range g {
			t.Rows = append(t.Rows, koppelmanRow(r))
		}
		t.Notes = append(t.Notes, koppelmanBest(g)...)
		t.Notes = append(t.Notes, wrongResults(g)...)
		tables = append(tables, t)
	}
	return tables
}

// tilingOf returns the shape of a tile sort in Koppelman's symbols.
func tilingOf(r Result) tiling {
	t := tiling{
		elementBytes: r.Key.WordBytes, keyBits: 8 * r.Key.WordBytes, digitBits: r.Params.DigitBits,
		items: r.Params.Items, groupSize: r.Params.GroupSize, groups: koppelmanGroups,
	}
	if r.Key.Values {
		t.elementBytes += 4
	}
	return t
}

const counterBytes = 4 // bytes of a histogram's counter, up to 2^30 elements

func koppelmanRow(r Result) []string {
	t := tilingOf(r)
	moved := t.movedBytes(r.Records, counterBytes)
	row := []string{
		strconv.Itoa(t.digitBits),
		strconv.Itoa(t.items),
		strconv.Itoa(t.groupSize),
		strconv.Itoa(t.items * t.groupSize),
		fmt.Sprintf("%.2f", t.dataMovement(r.Records)/1e6),
		fmt.Sprintf("%.2f", moved/1e6),
	}
	if r.Rate == 0 {
		return append(row, "-", "-", resultText(r))
	}
	return append(
		row,
		fmt.Sprintf("%.3f", r.Seconds*1e3),
		fmt.Sprintf("%.1f", moved/r.Seconds/1e9),
		resultText(r),
	)
}

// koppelmanBest returns one line for each tile: the best h according to the formula, and the
// fastest h.
func koppelmanBest(results []Result) []string {
	var lines []string
	for _, group := range koppelmanBlocks {
		of := filterResults(results, func(r Result) bool {
			return r.Params.GroupSize == group && r.Rate > 0
		})
		if len(of) == 0 {
			continue
		}
		least := of[0]
		fastest := of[0]
		for _, r := range of {
			if tilingOf(r).dataMovement(r.Records) < tilingOf(least).dataMovement(r.Records) {
				least = r
			}
			if r.Rate > fastest.Rate {
				fastest = r
			}
		}
		lines = append(lines, fmt.Sprintf("tile %d: least moved by h = %d, fastest with h = %d",
			koppelmanItems*group, least.Params.DigitBits, fastest.Params.DigitBits))
	}
	return []string{strings.Join(lines, "; ")}
}

// dillhoffCases returns cases of the sort by one bit, and of the coalesced sort with larger
// radixes.
func dillhoffCases(s Scope) []Case {
	var settings []setting
	for _, bits := range []int{1, 2, 4, 8} {
		label := fmt.Sprintf("%d-bit", bits)
		settings = append(
			settings, setting{label, "split", algo.Params{DigitBits: bits}},
		)
	}
	return s.casesOf(s.sizes(), settings...)
}

var (
	computationItems  = []int{1, 2, 4, 8}
	computationBlocks = []int{256, 64, 32}
	computationDigits = []int{2, 4, 6, 8}
)

// stepsPerWord is the number of instructions per word at which a GPU is as fast in computing as
// in moving data, in Koppelman's example.
const stepsPerWord = 55

// computationCases vary e, B and h at the largest size.
func computationCases(s Scope) []Case {
	var settings []setting
	for _, items := range computationItems {
		for _, group := range computationBlocks {
			for _, bits := range computationDigits {
				p := algo.Params{
					DigitBits: bits,
					Items:     items,
					GroupSize: group,
				}
				settings = append(
					settings,
					setting{fmt.Sprintf(
						"h=%d e=%d B=%d", bits, items, group,
					), "tile", p},
				)
			}
		}
	}
	return s.casesOf([]int64{s.Max}, settings...)
}

// computationTables returns tables of the steps according to the analysis, the words moved, and
// the rate.
func computationTables(results []Result) []Table {
	var tables []Table
	for _, g := range groupResults(results) {
		t := Table{
			Title: fmt.Sprintf(
				"tile, %s, %s, n = 2^%s",
				g[0].Key,
				g[0].Dist,
				log2(g[0].Records),
			),
			Head:  []string{"h", "e", "B", "tile", "steps, M", "words, M", "steps/word", "Mkeys/s"},
			Notes: append([]string{computationNote()}, wrongResults(g)...),
		}
		for _, r := range g {
			t.Rows = append(t.Rows, computationRow(r))
		}
		tables = append(tables, t)
	}
	return tables
}

// computationNote explains the columns of computationTables.
func computationNote() string {
	return fmt.Sprintf(
		"steps: [n(h·lg(eB) + 2) + (n/eB)2^h(1 + h) + G(G + h)2^h]·k/h, "+
			"with G = %d and every constant 1; "+
			"more than %d steps for a word moved are bound by computation",
		koppelmanGroups,
		stepsPerWord,
	)
}

func computationRow(r Result) []string {
	t := tilingOf(r)
	steps := t.computation(r.Records, unitCosts)
	words := t.dataMovement(r.Records)
	return []string{
		strconv.Itoa(t.digitBits),
		strconv.Itoa(t.items),
		strconv.Itoa(t.groupSize),
		strconv.Itoa(t.items * t.groupSize),
		fmt.Sprintf("%.1f", steps/1e6),
		fmt.Sprintf("%.1f", words/1e6),
		fmt.Sprintf("%.1f", steps/words),
		resultText(r),
	}
}
