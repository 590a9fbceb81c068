package radix

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// TestOffsets checks the offsets of fields and the constants that the assembly depends on.
func TestOffsets(t *testing.T) {
	checkOffsets(t, "constants", []offset{
		{"askedAhead elements", prefetchAhead * unsafe.Sizeof(uint32(0)), 64}, // in numbers, see ASK
		{"countShift", countShift, 36},
		{"octet", octet, 8},
	})
	testCombinerOffsets[uint32](t)
	testCombinerOffsets[uint64](t)
	testCombinerOffsets[[2]uint64](t)
	testBucketOffsets[uint32](t)
	testBucketOffsets[uint64](t)
}

type offset struct {
	name      string
	got, want uintptr
}

func checkOffsets(t *testing.T, of string, all []offset) {
	t.Helper()
	for _, o := range all {
		if o.got != o.want {
			t.Errorf("%s: %s is at %d, the assembly takes it for %d", of, o.name, o.got, o.want)
		}
	}
}

func testCombinerOffsets[E arena.Word](t *testing.T) {
	var c combiner[E]
	checkOffsets(t, fmt.Sprintf("%T", c), []offset{
		{"lines", unsafe.Offsetof(c.lines), 0},
		{"next", unsafe.Offsetof(c.lineEnds), 24},
		{"to", unsafe.Offsetof(c.targets), 48},
		{"elems", unsafe.Offsetof(c.elems), 72},
		{"blockMask", unsafe.Offsetof(c.blockMask), 96},
		{"lineMask", unsafe.Offsetof(c.lineMask), 104},
	})
}

func testBucketOffsets[E Element](t *testing.T) {
	var b Buckets[E]
	checkOffsets(t, fmt.Sprintf("%T", b), []offset{
		{"low", unsafe.Offsetof(b.low), 0},
		{"Shift", unsafe.Offsetof(b.Shift), 8},
		{"last", unsafe.Offsetof(b.last), 16},
		{"cells", unsafe.Offsetof(b.cells), 24},
		{"bits", unsafe.Offsetof(b.mantissaBits), 48},
		{"center", unsafe.Offsetof(b.center), 56},
		{"lower", unsafe.Offsetof(b.firstLowerCell), 64},
		{"below", unsafe.Offsetof(b.bucketsBelow), 72},
	})
	if c := newCell(5, 3); uint64(c) != 5<<32|3 {
		t.Errorf("a cell is %x", uint64(c))
	}
}
