package bench

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/format"
)

// A Scope restricts the cases of a view. The comment of each field describes its zero value.
type Scope struct {
	Algorithms []string         // empty: all algorithms of the device
	Keys       []opencl.KeyKind // empty: the keys of the view
	Dists      []string         // empty: uniform
	// Min and Max are the limits of the sizes, which are powers of two; 0: chosen by the view.
	Min, Max int64
	Memory   int64 // memory of the host in bytes; 0: unknown
}

// A View is a selection of cases, and the tables made from their results.
type View struct {
	Name  string
	About string
	cases func(Scope) []Case
	table func([]Result) []Table

	needs     []string // algorithms that a device must have; nil: any
	algorithm bool     // uses Scope.Algorithms
	keys      []opencl.KeyKind
	max       int64 // the largest size by default, if the device could do more
}

var (
	keys32  = opencl.KeyKind{WordBytes: 4}
	pairs32 = opencl.KeyKind{WordBytes: 4, Values: true}
)

// Views lists all views, the default first.
var Views = []View{
	{Name: "all", About: "every algorithm: Mkeys/s by size", algorithm: true, keys: opencl.KeyKinds,
		cases: allCases, table: byGroup},
	{Name: "bainville", About: "selection sorts: Mkeys/s by log2 n and by BLOCK_FACTOR",
		needs: []string{"selection", "selection-blocks"}, keys: []opencl.KeyKind{keys32, pairs32}, max: 1 << 19,
		cases: bainvilleCases, table: bainvilleTables},
	{Name: "harada", About: "count-scan-reorder with 4 and 8 bits per pass: Mkeys/s by size",
		needs: []string{"count-scan-reorder"},
		keys:  []opencl.KeyKind{keys32}, cases: haradaCases, table: byGroup},
	{Name: "intel", About: "binning with 2 and 4 bits per pass", needs: []string{"binning"},
		keys: []opencl.KeyKind{keys32}, cases: intelCases, table: intelTables},
	{Name: "koppelman", About: "tile sorts for values of e, B and h: bytes moved, predicted and actual",
		needs: []string{"tile"}, keys: []opencl.KeyKind{keys32}, cases: koppelmanCases, table: koppelmanTables},
	{Name: "computation", About: "tile sorts for values of e, B and h: steps by Koppelman's formula, and rate",
		needs: []string{"tile"}, keys: []opencl.KeyKind{keys32}, cases: computationCases, table: computationTables},
	{Name: "dillhoff", About: "split with 1, 2, 4 and 8 bits per pass", needs: []string{"split"},
		keys: []opencl.KeyKind{keys32}, cases: dillhoffCases, table: byGroup},
	{Name: "bandwidth", About: "bandwidth by number of work-items (Harada and Howes, figure 2)",
		needs: []string{"count-scan-reorder"}, keys: []opencl.KeyKind{keys32}, max: 1 << 24,
		cases: bandwidthCases, table: bandwidthTables},
}

// ViewNames returns the names of the views.
func ViewNames() []string {
	names := make([]string, len(Views))
	for i, v := range Views {
		names[i] = v.Name
	}
	return names
}

// FindView returns the view with the given name.
func FindView(name string) (View, error) {
	for _, v := range Views {
		if v.Name == name {
			return v, nil
		}
	}
	return View{}, fmt.Errorf(
		"no table %q: use one of %s", name, strings.Join(ViewNames(), ", "),
	)
}

// The default sizes of a view. A device sorts them in a moment.
const (
	smallestSize   = 1 << 8
	largestOnGPU   = 1 << 26
	largestOnCPU   = 1 << 22
	largestOnPOCL  = 1 << 16 // OpenCL on the host's CPU is for tests
	sizesAtMost    = 1 << 40
	defaultDistrib = "uniform"
)

// Cases returns the view's cases for a device. Cases with the same keys are adjacent.
func (v View) Cases(info device.Info, s Scope) ([]Case, error) {
	if err := v.checkAlgorithms(info, s); err != nil {
		return nil, err
	}
	v.setDefaults(&s, info)
	if err := s.checkData(); err != nil {
		return nil, err
	}
	cases := v.cases(s)
	// Cases that exceed the memory of a device are skipped later, when they run.
	if !info.Host {
		return cases, nil
	}
	return cases, s.checkMemory(cases)
}

// checkAlgorithms returns an error if the device lacks an algorithm of the view or of the scope.
func (v View) checkAlgorithms(info device.Info, s Scope) error {
	has := func(name string) bool { return slices.Contains(info.Algorithms, name) }
	for _, name := range v.needs {
		if !has(name) {
			return fmt.Errorf("table %s: device %d (%s) does not have %s", v.Name, info.Index, info.Name, name)
		}
	}
	if len(s.Algorithms) > 0 && !v.algorithm {
		return fmt.Errorf("table %s: leave out --algorithm: the table has its own algorithms", v.Name)
	}
	for _, name := range s.Algorithms {
		if !has(name) {
			return fmt.Errorf("algorithm %q: device %d (%s) has %s", name, info.Index, info.Name,
				strings.Join(info.Algorithms, ", "))
		}
	}
	return nil
}

// checkData returns an error if the distributions or the sizes are impossible.
func (s Scope) checkData() error {
	for _, dist := range s.Dists {
		if !slices.Contains(format.Distributions, dist) {
			return fmt.Errorf("unknown distribution %q: use %s", dist, strings.Join(format.Distributions, ", "))
		}
	}
	if s.Min < 1 || s.Max < s.Min || s.Max > sizesAtMost {
		return fmt.Errorf("sizes from %d to %d: --min must be at least 1, and --max from --min to 2^40",
			s.Min, s.Max)
	}
	return nil
}

// checkMemory returns an error if the host has too little memory for the largest case.
func (s Scope) checkMemory(cases []Case) error {
	c := slices.MaxFunc(cases, func(a, b Case) int {
		return cmp.Compare(chunksBytes(a), chunksBytes(b))
	})
	need := chunksBytes(c)
	if s.Memory > 0 && need > s.Memory {
		return fmt.Errorf("%d keys of %s need %s bytes of memory, but there are %s: use a smaller --max",
			c.Records, c.Key, humanize.Comma(need), humanize.Comma(s.Memory))
	}
	return nil
}

// setDefaults replaces the zero values in s by the defaults of the view.
func (v View) setDefaults(s *Scope, info device.Info) {
	if len(s.Algorithms) == 0 {
		s.Algorithms = info.Algorithms
	}
	if len(s.Keys) == 0 {
		s.Keys = v.keys
	}
	if len(s.Dists) == 0 {
		s.Dists = []string{defaultDistrib}
	}
	if s.Max == 0 {
		s.Max = largestSize(info)
		if v.max > 0 {
			s.Max = min(s.Max, v.max)
		}
		s.Max = max(s.Max, s.Min)
	}
	if s.Min == 0 {
		s.Min = min(smallestSize, s.Max)
	}
}

// largestSize returns the default for the largest size.
func largestSize(info device.Info) int64 {
	switch {
	case info.Host:
		return largestOnCPU
	case info.Automatic:
		return largestOnGPU
	}
	return largestOnPOCL
}

// sizes returns the powers of two from Min to Max. If that range contains no power of two, it
// returns Max.
func (s Scope) sizes() []int64 {
	var list []int64
	for n := int64(1) << bits.Len64(uint64(s.Min-1)); n <= s.Max; n *= 2 {
		list = append(list, n)
	}
	if list == nil {
		return []int64{s.Max}
	}
	return list
}

// A setting is an algorithm with parameters.
type setting struct {
	label, algorithm string
	params           algo.Params
}

// casesOf returns the cases of all settings, for each kind of key, distribution and size.
func (s Scope) casesOf(sizes []int64, settings ...setting) []Case {
	var cases []Case
	for _, key := range s.Keys {
		for _, dist := range s.Dists {
			for _, n := range sizes {
				cases = append(cases, casesWith(settings, key, dist, n)...)
			}
		}
	}
	return cases
}

// casesWith returns the cases of all settings for the same keys.
func casesWith(settings []setting, key opencl.KeyKind, dist string, n int64) []Case {
	var cases []Case
	for _, s := range settings {
		cases = append(cases, Case{s.label, s.algorithm, s.params, key, dist, n})
	}
	return cases
}

func allCases(s Scope) []Case {
	var settings []setting
	for _, name := range s.Algorithms {
		settings = append(settings, setting{label: name, algorithm: name})
	}
	return s.casesOf(s.sizes(), settings...)
}

// byGroup returns one table for each kind of key and distribution.
func byGroup(results []Result) []Table {
	var tables []Table
	for _, g := range groupResults(results) {
		tables = append(
			tables,
			pivot(fmt.Sprintf("%s, %s, Mkeys/s", g[0].Key, g[0].Dist), g),
		)
	}
	return tables
}

// Tables returns the tables of the view for these results.
func (v View) Tables(results []Result) []Table {
	return v.table(results)
}
