package algo

import (
	"cmp"
	"fmt"
	"slices"
)

// maxDigitBits is the widest digit of a pass: a digit value has a counter for each tile.
const maxDigitBits = 8

// digitWidths are the bits of a digit that an algorithm can be told to sort by. Those that are not here have none, or
// cut the key as the number of keys wants it.
var digitWidths = map[string][]int{
	"count-scan-reorder": upTo(maxDigitBits), "onesweep": upTo(maxDigitBits), "split": upTo(maxDigitBits),
	"tile": upTo(maxDigitBits), "binning": {2, 4},
}

func upTo(most int) []int {
	widths := make([]int, most)
	for i := range widths {
		widths[i] = i + 1
	}
	return widths
}

// CheckDigitBits says why an algorithm, by name or "" for the default, cannot sort by digits of so many bits; 0 leaves
// the choice to it.
func CheckDigitBits(name string, bits int) error {
	widths, free := digitWidths[cmp.Or(name, "count-scan-reorder")]
	switch {
	case bits == 0 || slices.Contains(widths, bits):
		return nil
	case !free:
		return fmt.Errorf("%s: the bits of its digits cannot be chosen", name)
	case len(widths) == 2:
		return fmt.Errorf("digits of %d bits: use %d or %d", bits, widths[0], widths[1])
	}
	return fmt.Errorf("digits of %d bits: use %d to %d", bits, widths[0], widths[len(widths)-1])
}
