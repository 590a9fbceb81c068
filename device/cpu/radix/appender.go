package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// An Appender appends elements to buffers of equal size, one per part. It works like Load, which
// appends elements to the blocks of buckets: each part has a line in the cache, which is written
// to its buffer when it is full, bypassing the caches (see combiner). Only one goroutine may use
// it at a time.
type Appender[E arena.Word] struct {
	combiner[E]
	// waitingPart is the part whose line is full and does not fit into its buffer, or noPart.
	waitingPart int
}

// noPart stands for a part if there is none.
const noPart = -1

// appenderLine is the size of a line in bytes.
const appenderLine = LongLineBytes

// CanAppend reports whether an Appender supports buffers of bufferBytes: a power of two, and at
// least a line.
func CanAppend(bufferBytes int) bool {
	return bufferBytes >= appenderLine && bufferBytes&(bufferBytes-1) == 0
}

// AppenderBytes returns the memory of an Appender for the given number of parts, in addition to
// their buffers.
func AppenderBytes(parts int) int {
	return combinerBytes(parts, appenderLine)
}

// NewAppender returns an Appender for the given number of parts, with buffers of bufferBytes.
// memory contains the buffers, followed by AppenderBytes bytes. REQUIRES: memory is aligned like
// an arena, and CanAppend
func NewAppender[E arena.Word](
	memory []byte,
	parts, bufferBytes int,
) *Appender[E] {
	var e E
	a := &Appender[E]{waitingPart: noPart}
	elems := arena.View[E](memory[:parts*bufferBytes])
	block := bufferBytes / int(unsafe.Sizeof(e))
	a.combiner, _ = newCombiner(
		elems,
		block,
		memory[parts*bufferBytes:],
		parts,
		appenderLine,
	)
	for part := range parts {
		a.lineEnds[part] = uint64(part) * a.lineElems()
		a.targets[part] = a.bufferStart(part)
	}
	return a
}

// bufferStart returns the start of the buffer of a part.
func (a *Appender[E]) bufferStart(part int) uint64 {
	return uint64(part) * (a.blockMask + 1)
}

// Append appends records to the buffers of the given parts until a buffer is full. It returns the
// number of records appended, and the part whose buffer must be emptied before the next call. If
// it appends all records, full is -1.
func (a *Appender[E]) Append(
	recs []byte,
	parts []uint32,
) (done, full int) {
	elems := arena.View[E](recs)
	for done < len(elems) {
		end := min(done+MaxNumbers, len(elems))
		n, part := putElements(&a.combiner, elems[done:end], parts[done:end], nil)
		done += n
		if part >= 0 && !a.storeLine(part, a.lineElems()) {
			a.waitingPart = part
			return done, part
		}
	}

	return done, noPart
}

// storeLine writes the first n elements of the line of a part to its buffer. It returns false if
// there is no space.
func (a *Appender[E]) storeLine(part int, n uint64) bool {
	to := a.targets[part]
	if to == a.bufferStart(part+1) {
		return false
	}
	a.writeLine(part, to, n)
	return true
}

// Buffered returns the records in the buffer of a part. Its line may contain more; see Finish.
func (a *Appender[E]) Buffered(part int) []byte {
	StoreFence()
	return arena.ByteView(a.elems[a.bufferStart(part):a.targets[part]])
}

// Clear empties the buffer of a part, and then stores the line that was waiting for space.
func (a *Appender[E]) Clear(part int) {
	a.targets[part] = a.bufferStart(part)
	if a.waitingPart == part {
		a.waitingPart = noPart
		a.storeLine(part, a.lineElems())
	}
}

// Finish moves the elements in the line of a part to its buffer, which must be emptied before the
// next append. It returns false if the buffer must be emptied first.
func (a *Appender[E]) Finish(part int) bool {
	rest := a.elemsInLine(part)
	if rest > 0 && !a.storeLine(part, rest) {
		return false
	}
	a.lineEnds[part] -= rest
	return true
}
