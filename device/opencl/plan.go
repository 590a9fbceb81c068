//go:build opencl && cgo && linux

package opencl

import (
	"math"
	"math/bits"

	"github.com/extsort/extsort/format"
)

const (
	maxSegments         = 8              // of the records on the device, see records.cl
	maxIndex            = math.MaxUint32 // records that a 32-bit index can name
	ringBytes           = 128 << 20      // pinned memory of a chunk at most: pinning is slow
	slotBytes           = 4 << 20        // of one staging slot: takes several times as long as queueing a transfer
	stages              = 3              // gather pieces on the device: one gathered, one downloaded, one to spare
	scratchShare        = 16             // a sixteenth of the memory is left to the sorter's tables and the driver
	scratchAtMost       = int64(4) << 30 // but no more than this
	unifiedStagingShare = 8              // of the memory of a chunk on a device whose memory is the host's
	fewestSlots         = 2              // one is filled while the other is emptied
)

// shape says what a chunk of one layout keeps on the device.
type shape struct {
	layout   format.Layout
	size     int // of a record
	keyBytes int
	bare     bool // records are keys: only words lie on the device
}

func shapeOf(k *format.Keyer) shape {
	l := k.Layout()
	return shape{layout: l, size: l.RecordSize, keyBytes: l.KeySize(), bare: l.IsBare() && l.KeySize() <= 8}
}

// word is one word of the key: bytes from to to-1, counted from the most significant.
type word struct{ from, to int }

func (w word) bits() int  { return 8 * (w.to - w.from) }
func (w word) bytes() int { return wordBytes(w.to - w.from) }

// wordBytes is the width of the native word that holds n bytes, of more the first 8.
func wordBytes(n int) int {
	if n <= 4 {
		return 4
	}
	return 8
}

// stageBytes is the size of the pieces in which records are gathered on a device with so much memory.
func (s shape) stageBytes(memoryBytes int64) int64 {
	return max(min(slotBytes, memoryBytes/(8*stages)), int64(s.size))
}

// words splits the key, most significant word first.
func (s shape) words() []word {
	var list []word
	for from := 0; from < s.keyBytes; from += 8 {
		list = append(list, word{from, min(from+8, s.keyBytes)})
	}
	return list
}

// wordWidth is the bytes of the widest word.
func (s shape) wordWidth() int { return wordBytes(s.keyBytes) }

// segmentShift is log2 of the records in a segment that fits one allocation.
func (s shape) segmentShift(allocBytes int64) int {
	return min(max(bits.Len64(uint64(allocBytes/int64(s.size)))-1, 0), 32)
}

// capacity is the most records that memory, allocations and 32-bit indexes have room for.
func (s shape) capacity(memoryBytes, allocBytes int64) int64 {
	word := int64(s.wordWidth())
	if s.bare {
		return min(memoryBytes/(2*word), allocBytes/word)
	}
	return min(memoryBytes/(int64(s.size)+2*(word+4)), allocBytes/word, maxSegments<<s.segmentShift(allocBytes), maxIndex)
}

// stagingFor cuts the host's share of memory into the slots of a ring, for a chunk that may use hostBytes (0: no
// limit). REQUIRES: hostBytes is 0 or has room for fewestSlots records.
func stagingFor(s shape, hostBytes int64, workers int) (slotSize, slots int) {
	ring := int64(ringBytes)
	if hostBytes > 0 {
		ring = min(ring, hostBytes)
	}
	slot := max(min(slotBytes, ring/(2*fewestSlots)), int64(s.size))
	return int(slot), int(max(min(ring/slot, int64(2*workers+2)), 1))
}
