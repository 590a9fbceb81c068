// Package cpu sorts chunks on the host's processors.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The records of a chunk are sorted as elements, words of 32 or 64 bits:
//
//	bare keys up to 4 bytes    uint32   the normalized key; records are rebuilt from keys
//	bare keys up to 8 bytes    uint64   the same
//	everything else            uint64   the leading bits of the normalized key, then the record's index
//
// but for records up to 16 bytes, which are moved whole (whole.go), and bare keys up to 2 bytes, which are counted
// (histogram.go).
//
// With the index in their low bits elements are all different, so that an unstable sort of integers gives the
// stable order of the records wherever those key bits decide. Where they do not, the next bits that differ are
// sorted in their turn (records.go). The records themselves stay where they were loaded and are moved once, at Store.
//
// The steps of a chunk touch memory as little as can be:
//
//	Load   reads a unit of records into cache, extracts its elements and scatters them into up to 2048 buckets by
//	       their leading bits (load.go, package radix). Buckets are lists of blocks taken from a pool (package pool), so
//	       no count is taken beforehand, no second buffer is needed, and every byte is written once, past the
//	       caches.
//	Sort   cuts buckets that are too large for the cache once more, all workers together (split.go). Buckets that
//	       are not wait for Store.
//	Store  takes buckets in order, gathers each into cache, finishes it there by counting digits, and hands it to the
//	       writer while other workers do the next buckets (store.go). Where it drains, it gives the memory of
//	       neighbouring buckets back to the system when they have been written.
//	Select is Load of the least keys of a source, as many as there is room for (load.go).
//	Keep   finishes the buckets where they lie, so that records can be read from there (keep.go).
//
// These steps are written once, for an engine of keys that buckets are cut by and words that are moved (engine.go).
// What is different for bare keys (keys.go), records beside their elements (records.go) and records that are moved
// whole (whole.go) is its kind.
//
// So it is one partition by the most significant digit, and count, scan and reorder (Harada & Howes) where the elements
// are in cache: the algorithm "msd". Theirs, which does without that partition, is "count-scan-reorder" (sections.go).
package cpu

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// The algorithms of this device: what is described above, and what it grew from, see sections.
const (
	MSD              = "msd"
	countScanReorder = "count-scan-reorder"
)

var algorithms = []string{MSD, countScanReorder}

// Device is the host's processors as a device.Device.
type Device struct{}

// New returns the device.
func New() *Device { return &Device{} }

// Info describes the processor.
func (*Device) Info() device.Info {
	return device.Info{
		DriverName: driverName,
		Number:     1,
		Name:       cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH),
		Driver:     "Go " + runtime.Version()[len("go"):],
		Kind:       device.CPU,
		Host:       true,
		Units:      min(runtime.GOMAXPROCS(0), runtime.NumCPU()),
		Algorithms: algorithms,
	}
}

// Capabilities says that no record is gathered, left behind or kept back where an element is the whole one, and moved.
func (*Device) Capabilities(opt device.ChunkOptions) device.Capabilities {
	k := opt.Keyer
	if opt.Algorithm == countScanReorder {
		return device.Capabilities{}
	}
	c := device.Capabilities{Histogram: counts(k), WholeRecords: wordBytes(k) > 0}
	whole := keyBytes(k) > 0 && !c.Histogram || c.WholeRecords
	c.Selects, c.Keeps = whole, !c.Histogram
	switch size := k.Layout().RecordSize; {
	case c.WholeRecords:
		c.SelectSeconds = selectWholeSeconds
	case size != 4 && size != 8:
		c.SelectSeconds = selectOddSeconds
	default:
		c.SelectSeconds = selectSeconds
	}
	return c
}

// What a worker needs to leave out a record: by vectors, one by one, and one that is moved beside the prefix of its
// key.
const (
	selectSeconds      = 0.2e-9
	selectOddSeconds   = 1.3e-9
	selectWholeSeconds = 1.2e-9
)

// BlockBytes is less than opt.BlockBytes where each worker's share of the chunk is small.
func (*Device) BlockBytes(opt device.ChunkOptions, records int64) int {
	s := newSizes(opt, records)
	return s.out * s.record
}

// MaxRecords is the largest chunk within memoryBytes: where that is enough to count in, any number that there can be.
func (*Device) MaxRecords(opt device.ChunkOptions, memoryBytes int64) int64 {
	if _, ok := newHistogramSizes(opt, memoryBytes); ok && memoryBytes > 0 {
		return maxTallied
	}
	tooMany := sort.Search(1<<40, func(n int) bool {
		s := newSizes(opt, int64(n))
		return s.memory() > memoryBytes
	})
	return int64(max(tooMany-1, 0))
}

// NewChunk reserves a chunk's memory; its pages are touched as records come.
func (d *Device) NewChunk(_ context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	if opt.Algorithm != "" && !slices.Contains(algorithms, opt.Algorithm) {
		return nil, fmt.Errorf("algorithm %q: the CPU device has %s", opt.Algorithm, strings.Join(algorithms, ", "))
	}
	if opt.Keyer == nil || opt.Records < 0 {
		return nil, fmt.Errorf("chunk of %d records: needs a keyer and a capacity", opt.Records)
	}
	s := newSizes(opt, opt.Records)
	need := s.memory()
	tooLittle := opt.MemoryBytes > 0 && need > opt.MemoryBytes
	if h, ok := newHistogramSizes(opt, opt.MemoryBytes); ok && (tooLittle || opt.Records >= int64(valuesOf(h.record))) {
		return newHistogram(opt, h), nil
	}
	if tooLittle {
		most := d.MaxRecords(opt, opt.MemoryBytes)
		if most < opt.Records {
			return nil, fmt.Errorf("chunk of %d records needs %d bytes of memory, %d are allowed",
				opt.Records, need, opt.MemoryBytes)
		}
		s = newSizes(opt, most) // with larger blocks more records can need less memory
	}
	switch {
	case opt.Algorithm == countScanReorder:
		return newSections(opt, s)
	case s.whole && s.element == 8:
		return newWholes[uint64](opt, s)
	case s.whole:
		return newWholes[[2]uint64](opt, s)
	case s.keptRecords > 0:
		return newRecordChunk(opt, s)
	case s.element == 4:
		return newKeyChunk[uint32](opt, s)
	default:
		return newKeyChunk[uint64](opt, s)
	}
}

// keyBytes is the size of the element that a bare key is, or 0 for records that are more than that.
func keyBytes(k *format.Keyer) int {
	switch l := k.Layout(); {
	case !l.IsBare() || l.RecordSize > 8:
		return 0
	case l.RecordSize <= 4:
		return 4
	}
	return 8
}

// Close does nothing: chunks own all that there is to give back.
func (*Device) Close() error { return nil }
