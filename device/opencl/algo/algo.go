//go:build opencl && cgo && linux

package algo

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/extsort/extsort/device/opencl/cl"
)

// Data is the input and output of a Sorter: N keys, each a native word, alone or with a 32-bit
// value. After Sort, Keys and Values contain the result; the Sorter may have swapped them with
// KeysTmp and ValuesTmp. The buffers have room for at least N words (N uint32 in Values and
// ValuesTmp).
type Data struct {
	N         int64
	KeyBits   int // 1 to 8·WordBytes: only the low KeyBits of a word may be set
	WordBytes int // 4 (uint) or 8 (ulong)

	Keys, KeysTmp     *cl.Buffer // normalized keys
	Values, ValuesTmp *cl.Buffer // payload, usually the record's index; nil for keys alone

	Passes int // radix passes over the data; each Sort adds its own
}

// validate returns an error if no algorithm can sort the data.
func (d *Data) validate(fromBit, toBit int) error {
	var faults []error
	if d.WordBytes != 4 && d.WordBytes != 8 {
		faults = append(faults, fmt.Errorf("keys of %d bytes", d.WordBytes))
	}
	if fromBit < 0 || fromBit > toBit || toBit > 8*d.WordBytes {
		faults = append(
			faults,
			fmt.Errorf(
				"bits %d to %d of a word of %d bytes",
				fromBit,
				toBit,
				d.WordBytes,
			),
		)
	}
	if d.N < 0 ||
		d.N > 0 &&
			(d.Keys == nil || d.KeysTmp == nil ||
				(d.Values == nil) != (d.ValuesTmp == nil)) {
		faults = append(
			faults, fmt.Errorf("%d keys without the buffers for them", d.N),
		)
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("sort on an OpenCL device: %w", err)
	}
	return nil
}

// algorithms lists the default first. Each row has the digit widths that a user may choose.
// Algorithms without such a list have no digits, or adapt them to the number of keys.
var algorithms = []struct {
	name      string
	digitBits []int
	build     func(b *builder, p Params) kernelSet
}{
	{"count-scan-reorder", upTo(maxDigitBits), radixBy(buildHaradaHowes)},
	{"onesweep", upTo(maxDigitBits), radixBy(buildOnesweep)},
	{"hybrid", nil, buildShortcuts},
	{"split", upTo(maxDigitBits), radixBy(buildSplit)},
	{"tile", upTo(maxDigitBits), radixBy(buildTile)},
	{"binning", binningBits, radixBy(buildBinning)},
	{"selection", nil, buildSelection},
	{"selection-blocks", nil, buildSelectionBlocks},
}

// Names lists the algorithms, the default first.
func Names() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = a.name
	}
	return names
}

// findAlgorithm returns the index of the algorithm with this name; "" is the default.
func findAlgorithm(name string) (int, error) {
	at := slices.Index(Names(), cmp.Or(name, Names()[0]))
	if at < 0 {
		return 0, fmt.Errorf(
			"no algorithm %q on an OpenCL device: use one of %s",
			name,
			strings.Join(Names(), ", "),
		)
	}
	return at, nil
}

// Check returns an error if there is no algorithm with this name ("" is the default) or if it
// cannot sort by digits of this width (0: chosen by the algorithm).
func Check(name string, digitBits int) error {
	at, err := findAlgorithm(name)
	if err != nil {
		return err
	}
	return checkDigit(name, algorithms[at].digitBits, digitBits)
}

func checkDigit(name string, widths []int, bits int) error {
	switch {
	case bits == 0 || slices.Contains(widths, bits):
		return nil
	case widths == nil:
		return fmt.Errorf("%s: the bits of its digits are fixed", name)
	case len(widths) == 2:
		return fmt.Errorf(
			"digits of %d bits: use %d or %d", bits, widths[0], widths[1],
		)
	}
	return fmt.Errorf(
		"digits of %d bits: use %d to %d",
		bits,
		widths[0],
		widths[len(widths)-1],
	)
}

// New creates the sorter with this name; "" is the default. It rejects parameters with which even
// the smallest keys could not be sorted. Kernels are built at first use.
func New(ctx *cl.Context, name string, p Params) (*Sorter, error) {
	at, err := findAlgorithm(name)
	if err != nil {
		return nil, err
	}
	a := algorithms[at]
	b := &builder{
		ctx:        ctx,
		v:          variant{wordBytes: 4},
		checksOnly: true,
	}
	if a.build(b, p); b.err != nil {
		return nil, fmt.Errorf("%s: %w", a.name, b.err)
	}
	return &Sorter{
		ctx:        ctx,
		p:          p,
		build:      a.build,
		kernelSets: map[variant]kernelSet{},
		scratch:    map[string]*cl.Buffer{},
	}, nil
}
