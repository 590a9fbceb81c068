//go:build opencl && cgo && linux

package opencl

import (
	"math"
	"math/bits"

	"github.com/extsort/extsort/format"
)

const (
	// Maximum number of segments of records on the device, see records.cl.
	maxSegments = 8
	maxIndex    = math.MaxUint32 // largest 32-bit record index
	// Maximum pinned memory of a chunk, because pinning is slow.
	ringBytes = 128 << 20
	// Size of a staging slot; its transfer takes several times as long as queueing it.
	slotBytes = 4 << 20
	// Gather pieces on the device: one being gathered, one being downloaded, one spare.
	stages = 3
	// 1/16 of the memory is left to the sorter's tables and the driver.
	scratchShare        = 16
	scratchAtMost       = int64(4) << 30 // limit of that share
	unifiedStagingShare = 8              // 1/8 of a chunk's memory, on a device with unified memory
	fewestSlots         = 2              // minimum: one is filled while the other is emptied
)

// A shape describes the data that a chunk of one layout stores on the device.
type shape struct {
	layout      format.Layout
	recordBytes int // bytes per record
	keyBytes    int
	isBare      bool // records are keys, so the device stores only words
}

func shapeOf(k *format.Keyer) shape {
	l := k.Layout()
	return shape{
		layout:      l,
		recordBytes: l.RecordSize,
		keyBytes:    l.KeySize(),
		isBare:      l.IsBare() && l.KeySize() <= 8,
	}
}

// A word is one word of the key: bytes from to to-1, counted from the most significant one.
type word struct{ from, to int }

func (w word) bits() int  { return 8 * (w.to - w.from) }
func (w word) bytes() int { return wordBytes(w.to - w.from) }

// wordBytes returns the size of the smallest native word for n bytes, at most 8.
func wordBytes(n int) int {
	if n <= 4 {
		return 4
	}
	return 8
}

// stageBytes returns the size of the pieces in which records are gathered, for a device with this
// much memory.
func (s shape) stageBytes(memoryBytes int64) int64 {
	return max(min(slotBytes, memoryBytes/(8*stages)), int64(s.recordBytes))
}

// words splits the key, most significant word first.
func (s shape) words() []word {
	var list []word
	for from := 0; from < s.keyBytes; from += 8 {
		list = append(list, word{from, min(from+8, s.keyBytes)})
	}
	return list
}

// wordWidth returns the bytes of the widest word.
func (s shape) wordWidth() int { return wordBytes(s.keyBytes) }

// segmentShift returns log2 of the number of records in the largest segment that fits one
// allocation.
func (s shape) segmentShift(allocBytes int64) int {
	return min(max(bits.Len64(uint64(allocBytes/int64(s.recordBytes)))-1, 0), 32)
}

// capacity returns how many records fit into the memory, the allocations and 32-bit indexes.
func (s shape) capacity(memoryBytes, allocBytes int64) int64 {
	word := int64(s.wordWidth())
	if s.isBare {
		return min(memoryBytes/(2*word), allocBytes/word)
	}
	return min(
		memoryBytes/(int64(s.recordBytes)+2*(word+4)),
		allocBytes/word,
		maxSegments<<s.segmentShift(allocBytes),
		maxIndex,
	)
}

// stagingFor returns the size and the number of the slots for a chunk that may use hostBytes of
// host memory (0: no limit). REQUIRES: hostBytes is 0 or has room for fewestSlots records.
func stagingFor(s shape, hostBytes int64, workers int) (slotSize, slots int) {
	ring := int64(ringBytes)
	if hostBytes > 0 {
		ring = min(ring, hostBytes)
	}
	slot := max(min(slotBytes, ring/(2*fewestSlots)), int64(s.recordBytes))
	return int(slot), int(max(min(ring/slot, int64(2*workers+2)), 1))
}
