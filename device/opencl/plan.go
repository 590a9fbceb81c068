//go:build opencl && cgo && linux

package opencl

import (
	"cmp"
	"math"
	"math/bits"
	"runtime"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Rates that the model assumes where they have not been measured, in bytes per second.
const (
	assumedLinkRate   = 12e9  // 16 lanes of PCIe 3, pinned
	assumedGatherRate = 2.3e9 // one host core gathering 100-byte records
)

const (
	maxSegments   = 8              // of the records on the device, see records.cl
	maxIndex      = math.MaxUint32 // records that a 32-bit index can name
	ringBytes     = 128 << 20      // pinned memory of a chunk at most: pinning is slow
	slotBytes     = 4 << 20        // of one staging slot: takes several times as long as queueing a transfer
	stages        = 3              // gather pieces on the device: one gathered, one downloaded, one to spare
	scratchShare  = 16             // a sixteenth of the memory is left to the sorter's tables and the driver
	scratchAtMost = int64(4) << 30 // but no more than this
	fewestSlots   = 2              // one is filled while the other is emptied
)

// shape says what a chunk of one layout keeps on the device and what travels.
type shape struct {
	layout   format.Layout
	bare     bool   // records are keys: only words lie on the device
	travel   Travel // TravelRecords or TravelKeys, of layouts that are not bare
	keyBytes int

	stored               int // bytes that the device holds of each record beside words and indexes
	uploaded, downloaded int // bytes of each record that go over the link
	host                 int // bytes of host memory that each record takes beside the ring
}

// word is one word of the key: bytes from to to-1, counted from the most significant.
type word struct{ from, to int }

func (w word) bits() int  { return 8 * (w.to - w.from) }
func (w word) bytes() int { return wordBytes(w.to - w.from) }

// wordBytes is the width of the native word that holds so many bytes.
func wordBytes(n int) int {
	if n <= 4 {
		return 4
	}
	return 8
}

// stageBytes is the size of the pieces in which records are gathered on a device with so much memory.
func (s shape) stageBytes(memoryBytes int64) int64 {
	return max(min(slotBytes, memoryBytes/(8*stages)), int64(s.layout.RecordSize))
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
func (s shape) wordWidth() int { return wordBytes(min(s.keyBytes, 8)) }

// deviceBytes is the device memory that each record takes while it is sorted.
func (s shape) deviceBytes() int64 {
	if s.bare {
		return 2 * int64(s.wordWidth())
	}
	return int64(s.stored) + 2*int64(s.wordWidth()+4)
}

// segmentShift is log2 of the records in a segment that fits one allocation.
func (s shape) segmentShift(allocBytes int64) int {
	return min(max(bits.Len64(uint64(allocBytes/int64(max(s.stored, 1))))-1, 0), 32)
}

// capacity is the most records that memory, allocations and 32-bit indexes have room for.
func (s shape) capacity(memoryBytes, allocBytes, hostBytes int64) int64 {
	n := min(memoryBytes/s.deviceBytes(), allocBytes/int64(s.wordWidth()))
	if s.bare {
		return n
	}
	n = min(n, maxSegments<<s.segmentShift(allocBytes), maxIndex)
	if s.host > 0 {
		n = min(n, max(hostBytes, 0)/int64(s.host))
	}
	return n
}

// travelSeconds predicts the time that a record takes on its ways, there and back; the sort itself is the same.
func travelSeconds(s shape, opt Options, workers int) float64 {
	t := float64(s.uploaded+s.downloaded) / cmp.Or(opt.LinkRate, assumedLinkRate)
	if s.travel == TravelKeys { // keys are extracted and records gathered by the host
		t += float64(s.keyBytes+s.layout.RecordSize) / (assumedGatherRate * float64(workers))
	}
	return t
}

// shapeFor chooses what travels for chunks of n records (n < 0: as many as there is room for).
func shapeFor(opt Options, chunk device.ChunkOptions, n, hostBytes int64) shape {
	records := recordsShape(chunk)
	if records.bare {
		return records
	}
	keys := records
	keys.travel, keys.stored, keys.uploaded, keys.downloaded = TravelKeys, records.keyBytes, records.keyBytes, 4
	keys.host = records.layout.RecordSize
	workers := workersOf(chunk)
	ring := stagingFor(keys, hostBytes, workers)
	fits := max(n, 1) <= (hostBytes-int64(ring.slots*ring.slotBytes))/int64(keys.host)
	faster := travelSeconds(keys, opt, workers) < travelSeconds(records, opt, workers)
	if opt.Travel == TravelKeys || opt.Travel == TravelAuto && fits && faster {
		return keys
	}
	return records
}

// recordsShape is the shape of chunks whose records travel.
func recordsShape(chunk device.ChunkOptions) shape {
	layout := chunk.Keyer.Layout()
	size := layout.RecordSize
	s := shape{layout: layout, keyBytes: layout.KeySize(), travel: TravelRecords,
		stored: size, uploaded: size, downloaded: size}
	if layout.IsBare() && s.keyBytes <= 8 {
		s.bare, s.stored = true, 0
	}
	return s
}

func workersOf(chunk device.ChunkOptions) int {
	if chunk.Workers > 0 {
		return chunk.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// staging is how the host's share of memory is cut into slots.
type staging struct {
	slotBytes int
	slots     int
}

// stagingFor plans the ring of a chunk that may use hostBytes (0: no limit). REQUIRES: hostBytes is 0 or has room
// for fewestSlots records.
func stagingFor(s shape, hostBytes int64, workers int) staging {
	size := int64(s.layout.RecordSize)
	ring := int64(ringBytes)
	if hostBytes > 0 {
		ring = min(ring, hostBytes)
	}
	if s.travel == TravelKeys {
		ring /= 4 // the records need the rest
		size += 4 // a record and its index share a slot
	}
	slot := max(min(slotBytes, ring/(2*fewestSlots)), size)
	slots := min(ring/slot, int64(2*workers+2))
	return staging{slotBytes: int(slot), slots: int(max(slots, 1))}
}
