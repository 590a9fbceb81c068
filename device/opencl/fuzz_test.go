//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// FuzzSort sorts arbitrary records of any size by any two fields and compares the result with
// that of a stable sort.
func FuzzSort(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint8(3), "0:u16be", "2:i8:desc")
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xc0, 0x7f}, uint8(4), "0:f32", "0:bytes4")
	d := open(f, Options{})
	f.Fuzz(func(t *testing.T, recs []byte, size uint8, first, second string) {
		l := format.Layout{RecordSize: int(size)}
		for _, s := range []string{first, second} {
			if field, err := format.ParseField(s); err == nil {
				l.Key = append(l.Key, field)
			}
		}
		if l.Validate() != nil {
			t.Skip("no such layout")
		}
		recs = recs[:len(recs)/l.RecordSize*l.RecordSize]
		devicetest.Check(t, d, devicetest.Case{Layout: l, Recs: recs, Block: 8, Limit: -1})
	})
}
