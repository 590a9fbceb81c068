package cpu

import (
	"runtime/debug"
	"unsafe"

	"github.com/extsort/extsort/device"
)

// mapThreshold is the size of record, in bytes, from which it pays to leave records where they lie. To copy them takes
// memory that has to be cleared first, and then a second copy in the caches; but a map has small pages, which the
// gathering of small records misses more often.
const mapThreshold = 32

// mapRecords leaves the records of src where they lie, if it is a device.Mapped and they are of a size for that.
func (c *chunk[E]) mapRecords(src device.Source) error {
	kept, ok := any(c.codec).(*records)
	if !ok {
		return nil
	}
	if err := c.unmap(); err != nil {
		return err
	}
	mapped, ok := src.(device.Mapped)
	if !ok || c.record < mapThreshold || c.sizes.workers*c.unit*c.record > len(c.kept.Bytes()) {
		return nil
	}
	mapping, err := mapped.Map()
	if mapping == nil || err != nil {
		return err
	}
	c.mapping = mapping
	kept.kept, kept.mapped = mapping.Bytes(), true
	return nil
}

// unmap ends the use of a mapping.
func (c *chunk[E]) unmap() error {
	if c.mapping == nil {
		return nil
	}
	kept := any(c.codec).(*records)
	kept.kept, kept.mapped = c.kept.Bytes(), false
	mapping := c.mapping
	c.mapping = nil
	return mapping.Close()
}

// lendUnits has workers read units into the memory of the copies that a mapping spares.
func (c *chunk[E]) lendUnits(workers []*worker[E]) {
	if c.mapping == nil {
		return
	}
	unit := c.unit * c.record
	for i, w := range workers {
		w.unit = c.kept.Bytes()[i*unit:][:unit]
	}
}

// guarded calls f and makes an error of a fault of the mapping.
func (c *chunk[E]) guarded(f func() error) (err error) {
	if c.mapping == nil {
		return f()
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }:
			mapped := c.mapping.Bytes()
			at := fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(mapped)))
			if at >= uintptr(len(mapped)) {
				panic(fault)
			}
			err = c.mapping.Fault(int(at))
		default:
			panic(fault)
		}
	}()
	return f()
}
