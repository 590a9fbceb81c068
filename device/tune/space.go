package tune

import (
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
)

// An axis is one parameter with values to try, likely ones first, since time may run out. Values
// that a device does not support are skipped.
type axis struct {
	name   string
	values []int
	field  func(p *algo.Params) *int
}

// apply returns p with another value of this parameter.
func (a axis) apply(p algo.Params, value int) algo.Params {
	*a.field(&p) = value
	return p
}

var (
	groupSizes = axis{"group", []int{256, 384, 512, 128, 768, 1024}, func(p *algo.Params) *int {
		return &p.GroupSize
	}}
	items = axis{"items", []int{16, 20, 11, 12, 14, 18, 22, 9, 10, 24, 8, 6, 4},
		func(p *algo.Params) *int { return &p.Items }}
	digitBits = axis{"digit", []int{8, 7, 6, 5},
		// 4 would select another program, the published one.
		func(p *algo.Params) *int { return &p.DigitBits }}
	maskSteps = axis{"steps", []int{1, 2, 4}, func(p *algo.Params) *int {
		return &p.MaskSteps
	}}
)

// sections returns the axis for the number of work-groups per compute unit.
func sections(units int) axis {
	a := axis{
		name:  "groups",
		field: func(p *algo.Params) *int { return &p.Groups },
	}
	for _, perUnit := range []int{8, 4, 16, 32, 2} {
		a.values = append(a.values, perUnit*max(units, 1))
	}
	return a
}

// axesOf returns the axes of an algorithm, the most influential first.
func axesOf(algorithm string, info device.Info) []axis {
	switch algorithm {
	case "count-scan-reorder":
		return []axis{groupSizes, items, sections(info.Units), digitBits, maskSteps}
	case "onesweep":
		return []axis{groupSizes, items, digitBits}
	case "hybrid":
		return []axis{groupSizes, items}
	}
	return nil
}

// tuned lists the algorithms whose parameters are worth tuning.
var tuned = []string{"hybrid", "onesweep", "count-scan-reorder"}

// tiny lists the sorts that may be the fastest for few keys: a launch then costs more than
// comparing every key with every other key.
var tiny = []struct {
	algorithm string
	params    algo.Params
}{
	{"selection", algo.Params{}},
	{"selection-blocks", algo.Params{BlockFactor: 1}},
	{"selection-blocks", algo.Params{BlockFactor: 4}},
	{"selection-blocks", algo.Params{BlockFactor: 8}},
}

// The range of sizes up to which a tiny sort may be fastest, as log2.
const (
	tinyFrom = 5
	tinyTo   = 15
)
