//go:build opencl && cgo && linux

package opencl

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

func TestMain(m *testing.M) {
	devicetest.UsePoCL("4")
	os.Exit(m.Run())
}

// open opens the first device until the end of the test, or skips the test if there is none.
func open(t testing.TB, opt Options) device.Device {
	t.Helper()
	d, err := Open(1, opt)
	if errors.Is(err, ErrUnavailable) {
		t.Skip("no OpenCL device to test on: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// newChunk creates a chunk, which is closed at the end of the test.
func newChunk(t testing.TB, d device.Device, opt device.ChunkOptions) device.Chunk {
	t.Helper()
	c, err := d.NewChunk(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func randomRecords(l format.Layout, n int, dist string) []byte {
	return devicetest.Distributions[dist](l, n, rand.New(rand.NewPCG(uint64(n), 1)))
}

// A device rejects orders that its kernels do not support.
func TestUnsupportedOrders(t *testing.T) {
	d := open(t, Options{})
	f64 := format.Type{Kind: format.Float, Size: 8}
	decimal := format.Type{Kind: format.Packed, Size: 8}
	fields := []format.Field{{Type: f64, Numeric: true}, {Type: f64, NaN: format.NaNLast}, {Type: decimal}}
	for _, field := range fields {
		k := formattest.KeyerOf(t, format.Layout{RecordSize: 8, Key: []format.Field{field}})
		if _, err := d.NewChunk(t.Context(), device.ChunkOptions{Keyer: k, Records: 10}); err == nil {
			t.Errorf("%+v: no error", field)
		}
		if Driver.Supports(k.Layout()) == nil {
			t.Errorf("%+v: the driver supports it", field)
		}
	}
}

// TestSlots loads a chunk with numbers of records around that of its slots.
func TestSlots(t *testing.T) {
	d := open(t, Options{})
	for _, l := range []format.Layout{formattest.Bare(t, "u32"), formattest.Fields(t, 8, "4:u32be")} {
		const memory = 64 << 10 // 16 KiB per slot
		slot := (16 << 10) / l.RecordSize
		recs := randomRecords(l, 5*slot, "uniform")
		c := newChunk(t, d, device.ChunkOptions{Keyer: formattest.KeyerOf(t, l), Records: int64(5 * slot),
			MemoryBytes: memory, Workers: 4})
		for _, n := range []int{0, 1, 2, slot - 1, slot, slot + 1, 4*slot + 3, 5 * slot} {
			for _, units := range [][]int{nil, {5 * slot}} {
				recs := recs[:n*l.RecordSize]
				devicetest.CheckOn(t, c, devicetest.Case{Layout: l, Recs: recs, Units: units, Limit: -1})
			}
		}
	}
}

// If one allocation is too small for all records, they are divided into segments.
func TestSegments(t *testing.T) {
	d := open(t, Options{})
	d.(*openDevice).dev.MaxAllocBytes = 40_000
	l := formattest.Fields(t, 33, "9:bytes9", "0:f64")
	opt := device.ChunkOptions{Keyer: formattest.KeyerOf(t, l), MemoryBytes: 1 << 20, Workers: 3}
	opt.Records = d.MaxRecords(opt, opt.MemoryBytes)
	c := newChunk(t, d, opt)
	devicetest.CheckOn(t, c, devicetest.Case{Layout: l, Recs: randomRecords(l, int(opt.Records), "uniform"), Limit: -1})
	if n := len(c.(*chunk).memory.segments); n < 3 {
		t.Errorf("only %d segments", n)
	}
}

func TestStats(t *testing.T) {
	l := formattest.Bare(t, "u64")
	d := open(t, Options{Algorithm: "split", DigitBits: 4})
	c := newChunk(t, d, device.ChunkOptions{Keyer: formattest.KeyerOf(t, l), Records: 1000})
	devicetest.CheckOn(t, c, devicetest.Case{Layout: l, Recs: randomRecords(l, 1000, "uniform"), Limit: -1})
	s := c.Stats()
	if s.Records != 1000 || s.Algorithm != "split" || s.Passes != 16 {
		t.Errorf("stats %+v", s)
	}
}

func TestMaxRecords(t *testing.T) {
	for _, l := range []format.Layout{
		formattest.Bare(t, "u8"), formattest.Bare(t, "bytes7"), formattest.Bare(t, "f64be"), formattest.Bare(t, "f80in128"),
		formattest.Fields(t, 21, "4:ucs3:desc", "0:ucs1be"), formattest.Fields(t, 100, "0:bytes10"),
	} {
		opt := device.ChunkOptions{Keyer: formattest.KeyerOf(t, l)}
		d := open(t, Options{MemoryBytes: 1 << 20})
		n := d.MaxRecords(opt, 256<<10)
		if most := int64(1<<20) / int64(l.RecordSize); n < 1000 || n > most {
			t.Errorf("%v: %d records in 1 MiB", l, n)
		}
		if n := d.MaxRecords(opt, int64(l.RecordSize)); n != 0 {
			t.Errorf("%v: %d records with no room for a ring", l, n)
		}
	}
}
