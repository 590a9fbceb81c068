package radix

import (
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// Appender appends elements to buffers of equal size, one for each part, as Load appends them to the blocks of
// buckets: a line of each part is in cache, and goes to its buffer past the caches when it is full (see combiner).
// It is for one goroutine at a time.
type Appender[E arena.Word] struct {
	combiner[E]
	waiting int // the part of which a line is full, and there is no room for it; -1: none
}

// appenderLine is the size of a line in bytes.
const appenderLine = LongLineBytes

// CanAppend reports whether an Appender takes buffers of bufferBytes: a power of two, of a line at least.
func CanAppend(bufferBytes int) bool {
	return bufferBytes >= appenderLine && bufferBytes&(bufferBytes-1) == 0
}

// AppenderBytes is the memory of an Appender for parts, beside their buffers.
func AppenderBytes(parts int) int { return combinerBytes(parts, appenderLine) }

// NewAppender makes an Appender for parts, with buffers of bufferBytes. Memory is that of the buffers and
// behind them AppenderBytes. REQUIRES: memory starts as an arena does, and CanAppend.
func NewAppender[E arena.Word](memory []byte, parts, bufferBytes int) *Appender[E] {
	var e E
	a := &Appender[E]{waiting: -1}
	elems, block := arena.View[E](memory[:parts*bufferBytes]), bufferBytes/int(unsafe.Sizeof(e))
	a.combiner, _ = newCombiner(elems, block, memory[parts*bufferBytes:], parts, appenderLine)
	for part := range parts {
		a.next[part], a.to[part] = uint64(part)*a.line(), a.start(part)
	}
	return a
}

// start is where the buffer of a part starts.
func (a *Appender[E]) start(part int) uint64 { return uint64(part) * (a.blockMask + 1) }

// Append appends records to the buffers of the given parts until one of these is full: done records are appended
// then, and full is the part whose buffer has to be emptied before anything else is appended; or -1 at the end of
// recs.
func (a *Appender[E]) Append(recs []byte, parts []uint32) (done, full int) {
	elems := arena.View[E](recs)
	for done < len(elems) {
		end := min(done+MaxNumbers, len(elems))
		n, part := put(&a.combiner, elems[done:end], parts[done:end], nil)
		if done += n; part >= 0 && !a.store(part, a.line()) {
			a.waiting = part
			return done, part
		}
	}
	return done, -1
}

// store writes the first n elements of the line of a part to its buffer, and reports whether there was room.
func (a *Appender[E]) store(part int, n uint64) bool {
	to := a.to[part]
	if to == a.start(part+1) {
		return false
	}
	a.writeLine(part, to, n)
	return true
}

// Buffered is the records of a part that are in its buffer. Some more may be in its line, see Finish.
func (a *Appender[E]) Buffered(part int) []byte {
	StoreFence()
	return arena.ByteView(a.elems[a.start(part):a.to[part]])
}

// Empty empties the buffer of a part, and puts what waited for that into it.
func (a *Appender[E]) Empty(part int) {
	a.to[part] = a.start(part)
	if a.waiting == part {
		a.waiting = -1
		a.store(part, a.line())
	}
}

// Finish puts the elements of a part that are in its line into its buffer, which is to be emptied before anything
// else is appended. It reports false if the buffer has to be emptied for that.
func (a *Appender[E]) Finish(part int) bool {
	rest := a.inLine(part)
	if rest > 0 && !a.store(part, rest) {
		return false
	}
	a.next[part] -= rest
	return true
}
