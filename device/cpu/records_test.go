package cpu

import (
	"slices"
	"testing"

	"github.com/extsort/extsort/format"
)

// TestRefillKeyBitsAllocatesNothing checks that refillKeyBits produces no garbage: it is called
// for every block, and garbage does not count towards the memory limit.
func TestRefillKeyBitsAllocatesNothing(t *testing.T) {
	const size, n = 100, 1000
	k, err := format.NewKeyer(format.Layout{RecordSize: size,
		Key: []format.Field{{Type: format.Type{Kind: format.Bytes, Size: 20}}}})
	if err != nil {
		t.Fatal(err)
	}
	loaded := make([]byte, n*size)
	for i := range loaded {
		loaded[i] = byte(i * 7)
	}
	r := newRecords(k, loaded, n)
	elems := make([]uint64, n)
	for i := range elems {
		elems[i] = uint64(i)
	}
	before := slices.Clone(elems)
	if got := testing.AllocsPerRun(200, func() { r.refillKeyBits(elems, 40) }); got > 0 {
		t.Errorf("%.0f allocations a call", got)
	}
	for i, e := range elems {
		if want := k.BitRange(loaded[i*size:(i+1)*size], 40, r.heldKeyBits)<<r.indexBits | before[i]; e != want {
			t.Fatalf("element %d is %x, want %x", i, e, want)
		}
	}
}
