// Package devicetest checks that a device fulfills the contract of package device.
//
// Only the root package of this module is stable: this package may change in any version.
//
// Run is the conformance suite. It sorts many layouts, sizes and distributions and compares the
// result with slices.SortStableFunc, byte for byte. It also checks the rest of the contract:
// sources of unknown size, limits, blocks, reuse, cancellation, failing sources and writers, and
// memory. A new device needs one test:
//
//	func TestConformance(t *testing.T) {
//		devicetest.Run(t, func(testing.TB) device.Device { return cpu.New() })
//	}
//
// Source and Collector also replace files in other tests. Check and CheckOn are one comparison of the
// suite, for other tests of devices.
package devicetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Run runs the suite. It calls open for a new device for each part of the suite.
func Run(t *testing.T, open func(testing.TB) device.Device) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, device.Device)
	}{
		{"Info", testInfo},
		{"Capabilities", testCapabilities},
		{"Layouts", testLayouts},
		{"Sizes", testSizes},
		{"Distributions", testDistributions},
		{"Prefixes", testPrefixes},
		{"Samples", testSamples},
		{"UnknownSize", testUnknownSize},
		{"ShortBlocks", testShortBlocks},
		{"Full", testFull},
		{"Limit", testLimit},
		{"Blocks", testBlocks},
		{"Order", testOrder},
		{"Reuse", testReuse},
		{"Concurrent", testConcurrent},
		{"Cancel", testCancel},
		{"SourceFails", testSourceFails},
		{"WriterFails", testWriterFails},
		{"Drain", testDrain},
		{"Select", testSelect},
		{"Retain", testRetain},
		{"KeepReuse", testRetainReuse},
		{"Memory", testMemory},
		{"Options", testOptions},
	} {
		t.Run(part.name, func(t *testing.T) {
			d := open(t)
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Errorf("close the device: %v", err)
				}
			})
			part.run(t, d)
		})
	}
}

// A Case is one sort whose result is checked.
type Case struct {
	Layout  format.Layout
	Recs    []byte
	Sample  []uint64 // as in device.ChunkOptions; the function Sampled returns one
	Block   int      // BlockBytes; 0: 64 KiB
	Workers int      // 0: 3, so that goroutines interleave even on a machine with one processor
	Units   []int    // as in Source
	Short   []int    // as in Source
	Limit   int64    // maximum number of records to write; -1: all
}

func (c *Case) options(k *format.Keyer) device.ChunkOptions {
	opt := device.ChunkOptions{
		Keyer: k, Records: int64(
			len(c.Recs) / c.Layout.RecordSize,
		), Sample: c.Sample,
		BlockBytes: max(c.Block, c.Layout.RecordSize), Workers: c.Workers,
	}
	if c.Block == 0 {
		opt.BlockBytes = max(64<<10, c.Layout.RecordSize)
	}
	if c.Workers == 0 {
		opt.Workers = 3
	}
	return opt
}

// Check sorts a case on d and compares the result with that of a plain stable sort.
func Check(t testing.TB, d device.Device, c Case) {
	t.Helper()
	chunk := open(t, d, c.options(keyer(t, c.Layout)))
	CheckOn(t, chunk, c)
	if err := chunk.Close(); err != nil {
		t.Errorf("close the chunk: %v", err)
	}
}

// CheckOn is Check for an existing chunk.
func CheckOn(t testing.TB, chunk device.Chunk, c Case) {
	t.Helper()
	size := c.Layout.RecordSize
	n := int64(len(c.Recs) / size)
	load(t, chunk, &Source{
		Recs:  c.Recs,
		Size:  size,
		Units: c.Units,
		Short: c.Short,
	}, n)
	got := store(t, chunk, c.Limit, size)
	want := Sorted(c.Layout, c.Recs)
	if c.Limit >= 0 {
		want = want[:min(c.Limit, n)*int64(size)]
	}
	compare(t, got, want, size)
}

func keyer(t testing.TB, l format.Layout) *format.Keyer {
	t.Helper()
	k, err := format.NewKeyer(l)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func open(t testing.TB, d device.Device, opt device.ChunkOptions) device.Chunk {
	t.Helper()
	chunk, err := d.NewChunk(context.Background(), opt)
	if err != nil {
		t.Fatalf("new chunk of %d records: %v", opt.Records, err)
	}
	return chunk
}

func load(t testing.TB, chunk device.Chunk, src device.Source, want int64) {
	t.Helper()
	n, err := chunk.Load(context.Background(), src)
	if err != nil || n != want {
		t.Fatalf("loaded %d records, %v; want %d", n, err, want)
	}
}

func store(t testing.TB, chunk device.Chunk, limit int64, size int) []byte {
	t.Helper()
	if err := chunk.Sort(context.Background()); err != nil {
		t.Fatalf("sort: %v", err)
	}
	w := Collector{Size: size}
	if err := chunk.Store(context.Background(), limit, false, &w); err != nil {
		t.Fatalf("store: %v", err)
	}
	return w.Written(t)
}

func compare(t testing.TB, got, want []byte, size int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("stored %d records, want %d", len(got)/size, len(want)/size)
	}
	if bytes.Equal(got, want) {
		return
	}
	for at := 0; at < len(got); at += size {
		a, b := got[at:at+size], want[at:at+size]
		if !bytes.Equal(a, b) {
			t.Fatalf(
				"record %d of %d is %x, want %x", at/size, len(got)/size, a, b,
			)
		}
	}
}

// lastSorted caches the last result of Sorted, because many consecutive cases have the same
// records.
var lastSorted struct {
	sync.Mutex
	of   string
	recs []byte
}

// Sorted returns the stable order of recs, which is the reference result.
func Sorted(l format.Layout, recs []byte) []byte {
	// Layout.String leaves out the position of NaNs.
	of := fmt.Sprintf("%#v %d %v", l, len(recs), xxh3.Hash128(recs))
	lastSorted.Lock()
	defer lastSorted.Unlock()
	if lastSorted.of != of {
		lastSorted.of, lastSorted.recs = of, stable(l, recs)
	}
	return slices.Clone(lastSorted.recs)
}

// stable returns the order of slices.SortStableFunc in a fifth of the time.
func stable(l format.Layout, recs []byte) []byte {
	k, err := format.NewKeyer(l)
	if err != nil {
		panic(err)
	}
	type entry struct {
		head  uint64 // the first 8 bytes of the key
		index int    // position in recs, which decides between equal keys
	}
	size := l.RecordSize
	width := l.KeySize()
	keys := make([]byte, 0, len(recs)/size*width)
	order := make([]entry, len(recs)/size)
	for i := range order {
		keys = k.Append(keys, recs[i*size:(i+1)*size])
		var head [8]byte
		copy(head[:], keys[i*width:])
		order[i] = entry{binary.BigEndian.Uint64(head[:]), i}
	}
	slices.SortFunc(order, func(a, b entry) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		byKey := bytes.Compare(
			keys[a.index*width:(a.index+1)*width],
			keys[b.index*width:(b.index+1)*width],
		)
		return cmp.Or(byKey, a.index-b.index)
	})
	sorted := make([]byte, 0, len(recs))
	for _, e := range order {
		sorted = append(sorted, recs[e.index*size:(e.index+1)*size]...)
	}
	return sorted
}

// Sampled returns the prefixes of about n records of recs.
func Sampled(l format.Layout, recs []byte, n int) []uint64 {
	k, err := format.NewKeyer(l)
	if err != nil {
		panic(err)
	}
	var sample []uint64
	count := len(recs) / l.RecordSize
	for i := 0; i < count; i += max(1, count/n) {
		sample = append(
			sample, k.Prefix(recs[i*l.RecordSize:(i+1)*l.RecordSize]),
		)
	}
	return sample
}
