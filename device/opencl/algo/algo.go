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

// Data is what a Sorter sorts: N keys, each a native word, alone or with a 32-bit value that goes with it.
// On return from Sort, Keys and Values hold the result; a Sorter may have swapped them with KeysTmp and ValuesTmp.
// The buffers have room for at least N words (N uint32 in Values and ValuesTmp).
type Data struct {
	N         int64
	KeyBits   int // 1 to 8·WordBytes: bits of the word that may be set, the low ones
	WordBytes int // 4 (uint) or 8 (ulong)

	Keys, KeysTmp     *cl.Buffer // normalized keys
	Values, ValuesTmp *cl.Buffer // payload, as a rule the record's index; nil for keys alone

	Passes int // radix passes over the data; each Sort adds its own
}

// check refuses data that no kernel here can sort.
func (d *Data) check(fromBit, toBit int) error {
	var faults []error
	if d.WordBytes != 4 && d.WordBytes != 8 {
		faults = append(faults, fmt.Errorf("keys of %d bytes", d.WordBytes))
	}
	if fromBit < 0 || fromBit > toBit || toBit > 8*d.WordBytes {
		faults = append(faults, fmt.Errorf("bits %d to %d of a word of %d bytes", fromBit, toBit, d.WordBytes))
	}
	if d.N < 0 || d.N > 0 && (d.Keys == nil || d.KeysTmp == nil || (d.Values == nil) != (d.ValuesTmp == nil)) {
		faults = append(faults, fmt.Errorf("%d keys without the buffers for them", d.N))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("sort on an OpenCL device: %w", err)
	}
	return nil
}

// makers lists the algorithms, the default first.
var makers = []struct {
	name string
	make func(ctx *cl.Context, p Params) (*Sorter, error)
}{
	{"count-scan-reorder", newCountScanReorder},
	{"onesweep", newOnesweep},
	{"hybrid", newHybrid},
	{"split", newSplit},
	{"tile", newTile},
	{"binning", newBinning},
	{"selection", newSelection},
	{"selection-blocks", newSelectionBlocks},
}

// Names lists the algorithms, the default first.
func Names() []string {
	names := make([]string, len(makers))
	for i, m := range makers {
		names[i] = m.name
	}
	return names
}

// Check reports that there is no algorithm of that name; "" is the default.
func Check(name string) error {
	if name == "" || slices.Contains(Names(), name) {
		return nil
	}
	return fmt.Errorf("no algorithm %q on an OpenCL device: use one of %s", name, strings.Join(Names(), ", "))
}

// New makes the sorter of that name, or the default for "". Kernels may be built here or at first use.
func New(ctx *cl.Context, name string, p Params) (*Sorter, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	at := slices.Index(Names(), cmp.Or(name, Names()[0]))
	s, err := makers[at].make(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", makers[at].name, err)
	}
	return s, nil
}
