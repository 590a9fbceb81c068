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
	} {
		if f.got != f.want {
			t.Errorf("%s is at %d, the assembly takes it for %d", f.name, f.got, f.want)
		}
	}
}
