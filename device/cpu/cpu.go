// Package cpu sorts chunks on the host's processors.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The records of a chunk are sorted as elements, which are words of 32 or 64 bits:
//
//	bare keys up to 4 bytes    uint32   the normalized key; records are rebuilt from keys
//	bare keys up to 8 bytes    uint64   the same
//	everything else            uint64   leading bits of the normalized key, then the record's index
//
// There are two exceptions: other records up to 16 bytes are moved whole (whole.go), and bare
// keys up to 2 bytes are counted (histogram.go).
//
// An element with an index in its low bits is unique. So an unstable sort of integers produces
// the stable order of the records wherever the key bits in the elements decide. Where they do
// not, the next bits that differ are sorted in turn (records.go). The records themselves stay
// where they were loaded, and are moved once, in Store.
//
// The steps of a chunk touch as little memory as possible:
//
//	Load   reads a unit of records into the cache, extracts its elements and scatters them to up
//	       to 2048 buckets by their leading bits (load.go, package radix). A bucket is a list of
//	       blocks from a pool (package pool). So there is no counting pass and no second buffer,
//	       and every byte is written once, bypassing the caches.
//	Sort   splits buckets that are too large for the cache, with all workers together (split.go).
//	       The other buckets wait for Store.
//	Store  takes the buckets in order. It gathers each one into the cache, finishes it there with
//	       a counting sort by digits, and passes it to the writer, while other workers process
//	       the next buckets (store.go). When it drains, it returns the memory of neighboring
//	       buckets to the system after they have been written.
//	Select loads the smallest keys of a source, up to the capacity of the chunk (load.go).
//	Retain   finishes the buckets in place, so that records can be read from there (retain.go).
//
// The steps are written once, for a pipeline with a type for the keys that define buckets and a
// type for the words that are moved (pipeline.go). The differences between bare keys (keys.go),
// records next to their elements (records.go) and records that are moved whole (whole.go) are in
// its kind.
//
// The algorithm "msd" thus consists of one partition by the most significant digit, followed by
// count, scan and reorder (Harada and Howes) on elements in the cache. Package bench has their
// algorithm without the partition, for comparison.
package cpu

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sort"

	"github.com/klauspost/cpuid/v2"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// MSD is the name of the algorithm of this device, which is described above.
const MSD = "msd"

// units is the number of processors at the start of the program. A container may allow fewer
// than the machine has, and a program may raise GOMAXPROCS later, as the command does.
var units = min(runtime.GOMAXPROCS(0), runtime.NumCPU())

// Device is the host's processors as a device.Device.
type Device struct{}

// New returns the device.
func New() *Device {
	return &Device{}
}

// Info describes the processor.
func (*Device) Info() device.Info {
	return device.Info{
		DriverName: driverName,
		Number:     1,
		Name:       cmp.Or(cpuid.CPU.BrandName, runtime.GOARCH),
		Driver:     "Go " + runtime.Version()[len("go"):],
		Kind:       device.CPU,
		Host:       true,
		Units:      units,
		Algorithms: []string{MSD},
	}
}

// Capabilities describes how the device treats records of this layout. If the element is the
// whole record, or is moved with it, nothing has to be gathered, so chunks can select and keep
// records.
func (*Device) Capabilities(opt device.ChunkOptions) device.Capabilities {
	k := opt.Keyer
	c := device.Capabilities{
		Histogram:    usesHistogram(k),
		WholeRecords: wordBytes(k) > 0,
	}
	whole := keyBytes(k) > 0 && !c.Histogram || c.WholeRecords
	c.Selects = whole
	c.Retains = !c.Histogram

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

// Seconds per record that a worker needs to leave a record out: with vector instructions, one at
// a time, and for a record that is moved together with the prefix of its key.
const (
	selectSeconds      = 0.2e-9
	selectOddSeconds   = 1.3e-9
	selectWholeSeconds = 1.2e-9
)

// BlockBytes returns less than opt.BlockBytes if each worker's share of the chunk is small.
func (*Device) BlockBytes(opt device.ChunkOptions, records int64) int {
	s := newSizes(opt, records)
	return s.outRecords * s.recordBytes
}

// MaxRecords returns the size of the largest chunk within memoryBytes. If a histogram fits, there
// is practically no limit.
func (*Device) MaxRecords(opt device.ChunkOptions, memoryBytes int64) int64 {
	_, ok := newHistogramSizes(opt, memoryBytes)
	if ok && memoryBytes > 0 {
		return histogramCapacity
	}
	tooMany := sort.Search(1<<40, func(n int) bool {
		s := newSizes(opt, int64(n))
		return s.memoryBytes() > memoryBytes
	})
	return int64(max(tooMany-1, 0))
}

// NewChunk reserves the memory of a chunk. Its pages are first touched when records arrive.
func (d *Device) NewChunk(
	_ context.Context,
	opt device.ChunkOptions,
) (device.Chunk, error) {
	if opt.Algorithm != "" && opt.Algorithm != MSD {
		return nil, fmt.Errorf(
			"algorithm %q: the CPU device has %s", opt.Algorithm, MSD,
		)
	}
	if opt.Keyer == nil || opt.Records < 0 {
		return nil, fmt.Errorf(
			"chunk of %d records: needs a keyer and a capacity", opt.Records,
		)
	}
	s := newSizes(opt, opt.Records)
	need := s.memoryBytes()
	tooLittle := opt.MemoryBytes > 0 && need > opt.MemoryBytes
	if h, ok := newHistogramSizes(opt, opt.MemoryBytes); ok {
		isMany := opt.Records >= int64(valueCount(h.recordBytes))
		if isMany || tooLittle {
			return newHistogram(opt, h), nil
		}
	}
	if tooLittle {
		most := d.MaxRecords(opt, opt.MemoryBytes)
		if most < opt.Records {
			return nil, fmt.Errorf("chunk of %d records needs %d bytes of memory, %d are allowed",
				opt.Records, need, opt.MemoryBytes)
		}
		s = newSizes(opt, most) // with larger blocks, more records can need less memory
	}
	return newChunkOfSizes(opt, s)
}

// newChunkOfSizes returns the chunk for the kind of elements of s.
func newChunkOfSizes(opt device.ChunkOptions, s sizes) (device.Chunk, error) {
	switch {
	case s.whole && s.elementBytes == 8:
		return newWholes[uint64](opt, s)
	case s.whole:
		return newWholes[[2]uint64](opt, s)
	case s.storedRecordBytes > 0:
		return newRecordChunk(opt, s)
	case s.elementBytes == 4:
		return newKeyChunk[uint32](opt, s)
	default:
		return newKeyChunk[uint64](opt, s)
	}
}

// keyBytes returns the element size of bare keys, or 0 for other records.
func keyBytes(k *format.Keyer) int {
	switch l := k.Layout(); {
	case !l.IsBare() || l.RecordSize > 8:
		return 0
	case l.RecordSize <= 4:
		return 4
	}
	return 8
}

// Close does nothing, because chunks own all resources.
func (*Device) Close() error {
	return nil
}
