//go:build opencl && cgo && linux

package opencl

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
)

// FuzzSort sorts records of any size by any two fields, with any bytes in them, and compares with a plain stable sort.
func FuzzSort(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint8(3), "0:u16be", "2:i8:desc", true)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xc0, 0x7f}, uint8(4), "0:f32",
		"0:bytes4", false)
	devices := map[bool]device.Device{false: open(f, Options{Travel: TravelRecords}), true: open(f,
		Options{Travel: TravelKeys})}
	f.Fuzz(func(t *testing.T, recs []byte, size uint8, first, second string, keys bool) {
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
		devicetest.Check(t, devices[keys], devicetest.Case{Layout: l, Recs: recs, Block: 8, Limit: -1})
	})
}
