package cpu

import (
	"errors"
	"unsafe"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
)

// mapThreshold is the size of record, in bytes, from which it pays to leave records where they lie. To copy them takes
// memory that has to be cleared first, and then a second copy in the caches; but a map has small pages, which the
// gathering of small records misses more often.
const mapThreshold = 32

// kept is the records of a chunk that elements refer to: copies, or left where they lie. There are none on nil.
type kept struct {
	records *records
	memory  *arena.Memory  // of copies
	mapping device.Mapping // where they are, if not in memory; else nil
	unit    int            // bytes that a worker reads at a time, if there are no copies
}

// begin leaves the records of src where they lie, if it is a device.Mapped and they are of a size for that.
func (k *kept) begin(src device.Source, s *sizes) error {
	if k == nil {
		return nil
	}
	if err := k.unmap(); err != nil {
		return err
	}
	mapped, ok := src.(device.Mapped)
	k.unit = s.unit * s.record
	if !ok || s.record < mapThreshold || s.workers*k.unit > len(k.memory.Bytes()) {
		return nil
	}
	mapping, err := mapped.Map()
	if mapping == nil || err != nil {
		return err
	}
	k.mapping = mapping
	k.records.kept = mapping.Bytes()
	return nil
}

// place is the memory that a worker reads n records from index first on into.
func (k *kept) place(worker int, first int64, n int) []byte {
	size := k.records.size
	if k.leftThere() {
		return k.memory.Bytes()[worker*k.unit:][:n*size] // that of the copies, which there are none of
	}
	return k.memory.Bytes()[first*int64(size):][:n*size]
}

// leftThere reports whether the records are where they lay.
func (k *kept) leftThere() bool { return k != nil && k.mapping != nil }

// unmap ends the use of a mapping.
func (k *kept) unmap() error {
	if !k.leftThere() {
		return nil
	}
	k.records.kept = k.memory.Bytes()
	mapping := k.mapping
	k.mapping = nil
	return mapping.Close()
}

func (k *kept) free() error {
	if k == nil {
		return nil
	}
	return errors.Join(k.unmap(), k.memory.Free())
}

// guarded calls f and makes an error of a fault of the mapping.
func (k *kept) guarded(f func() error) (err error) {
	if !k.leftThere() {
		return f()
	}
	return device.Guard(f, func(at uintptr) error {
		mapped := k.mapping.Bytes()
		if at -= uintptr(unsafe.Pointer(unsafe.SliceData(mapped))); at >= uintptr(len(mapped)) {
			return nil
		}
		return k.mapping.Fault(int(at))
	})
}
