//go:build opencl && cgo && linux

package algo

import (
	"fmt"
	"strings"

	"github.com/extsort/extsort/device/opencl/cl"
)

// Data is what a Sorter sorts: n keys, each a native word, alone or with a 32-bit value that goes with it.
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

// Sorter is one algorithm on one device. Its methods may be called by several goroutines; the commands go to the
// queue given.
type Sorter interface {
	// Sort orders d stably by the bits fromBit ≤ b < toBit of the key, all others ignored. It may return before
	// the device is done: q's next command sees the result.
	Sort(q *cl.Queue, d *Data, fromBit, toBit int) error

	Close()
}

// maker makes a Sorter for one device.
type maker func(ctx *cl.Context, dev *cl.Device, p Params) (Sorter, error)

// makers lists the algorithms, the default first.
var makers = []struct {
	name string
	make maker
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

// New makes the sorter of that name, or the default for "". Kernels may be built here or at first use.
func New(ctx *cl.Context, dev *cl.Device, name string, p Params) (Sorter, error) {
	if name == "" {
		name = makers[0].name
	}
	for _, m := range makers {
		if m.name == name {
			return m.make(ctx, dev, p)
		}
	}
	return nil, fmt.Errorf("no algorithm %q on an OpenCL device: use one of %s", name, strings.Join(Names(), ", "))
}
