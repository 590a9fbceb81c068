//go:build opencl && cgo && linux

package opencl

import (
	"encoding/binary"
	"fmt"

	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// deviceMemory is the buffers of a chunk on the device.
type deviceMemory struct {
	data     algo.Data    // words and indexes, twice each
	segments []*cl.Buffer // records
	shift    int          // log2 of the records in a segment
	size     int          // bytes of a record
	table    *cl.Buffer   // describes the key's bytes, see records.cl
	bits     *cl.Buffer   // what survey finds: 16 bytes for each word
	stage    []*cl.Buffer // pieces of gathered records on their way out
}

// allocate makes all buffers for so many records; stageBytes is the size of a gathered piece.
func (m *deviceMemory) allocate(s *session, sh shape, records, allocBytes, stageBytes int64) error {
	if m.shift = sh.segmentShift(allocBytes); !sh.bare && records > maxSegments<<m.shift {
		return fmt.Errorf("%w: %d records need more than %d allocations of %d bytes",
			ErrAllocation, records, maxSegments, allocBytes)
	}
	a := allocator{ctx: s.ctx}
	words := sh.words()
	m.bits = a.buffer(16 * int64(len(words)))
	m.data = a.data(records, sh.wordWidth(), !sh.bare)
	if sh.bare {
		return a.err
	}
	m.size = sh.size
	for left := max(records, 1); left > 0; left -= 1 << m.shift {
		m.segments = append(m.segments, a.buffer(min(left, 1<<m.shift)*int64(m.size)))
	}
	for range stages {
		m.stage = append(m.stage, a.buffer(stageBytes))
	}
	table := keyTable(sh.layout)
	m.table = a.buffer(int64(4 * len(table)))
	if a.err != nil {
		return a.err
	}
	return s.admin.Upload(m.table, wordsToBytes(table))
}

// allocator makes buffers until one fails.
type allocator struct {
	ctx *cl.Context
	err error
}

func (a *allocator) buffer(bytes int64) *cl.Buffer {
	if a.err != nil {
		return nil
	}
	b, err := a.ctx.NewBuffer(bytes)
	a.err = err
	return b
}

// data makes the buffers of what a Sorter sorts.
func (a *allocator) data(n int64, wordBytes int, values bool) algo.Data {
	d := algo.Data{N: n, KeyBits: 8 * wordBytes, WordBytes: wordBytes}
	d.Keys, d.KeysTmp = a.buffer(n*int64(wordBytes)), a.buffer(n*int64(wordBytes))
	if values {
		d.Values, d.ValuesTmp = a.buffer(4*n), a.buffer(4*n)
	}
	return d
}

func wordsToBytes(words []uint32) []byte {
	var b []byte
	for _, w := range words {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	return b
}

// pointers is the first arguments of the kernels in records.cl: the segments, and the last again for those not there.
func (m *deviceMemory) pointers(rest ...any) []any {
	args := make([]any, 0, maxSegments+len(rest))
	for i := range maxSegments {
		args = append(args, m.segments[min(i, len(m.segments)-1)])
	}
	return append(args, rest...)
}

func (m *deviceMemory) release() {
	for _, b := range []*cl.Buffer{m.data.Keys, m.data.KeysTmp, m.data.Values, m.data.ValuesTmp, m.table, m.bits} {
		b.Release()
	}
	for _, b := range append(m.segments, m.stage...) {
		b.Release()
	}
	*m = deviceMemory{}
}
