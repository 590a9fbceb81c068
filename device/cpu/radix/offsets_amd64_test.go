package radix

import (
	"testing"
	"unsafe"
)

// TestOffsets holds the fields of structs, and the constants, that the assembly knows by number to what it knows.
func TestOffsets(t *testing.T) {
	var l lines
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"lines.lines", unsafe.Offsetof(l.lines), 0},
		{"lines.next", unsafe.Offsetof(l.next), 8},
		{"lines.to", unsafe.Offsetof(l.to), 16},
		{"lines.pool", unsafe.Offsetof(l.pool), 24},
		{"lines.blockMask", unsafe.Offsetof(l.blockMask), 32},
		{"lines.lineMask", unsafe.Offsetof(l.lineMask), 40},
		{"lines.ahead", unsafe.Offsetof(l.ahead), 48},
		{"askedAhead elements", askedAhead * unsafe.Sizeof(uint32(0)), 64}, // in numbers, see ASK
		{"countShift", countShift, 36},
		{"scanned", scanned, 8191},
		{"window", window, 8},
	} {
		if f.got != f.want {
			t.Errorf("%s is at %d, the assembly takes it for %d", f.name, f.got, f.want)
		}
	}
	testBucketOffsets[uint32](t)
	testBucketOffsets[uint64](t)
}

func testBucketOffsets[E Element](t *testing.T) {
	var b Buckets[E]
	for _, f := range []struct {
		name      string
		got, want uintptr
	}{
		{"low", unsafe.Offsetof(b.low), 0},
		{"Shift", unsafe.Offsetof(b.Shift), 8},
		{"last", unsafe.Offsetof(b.last), 16},
		{"cells", unsafe.Offsetof(b.cells), 24},
		{"bits", unsafe.Offsetof(b.bits), 48},
		{"center", unsafe.Offsetof(b.center), 56},
		{"lower", unsafe.Offsetof(b.lower), 64},
		{"below", unsafe.Offsetof(b.below), 72},
	} {
		if f.got != f.want {
			t.Errorf("%T: %s is at %d, the assembly takes it for %d", b, f.name, f.got, f.want)
		}
	}
	if c := newCell(5, 3); uint64(c) != 5<<32|3 {
		t.Errorf("a cell is %x", uint64(c))
	}
}
