package spill

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
)

// entries is a list of consecutive blocks: the index of a run or a part of one.
type entries interface {
	// read fills a prefix of dst with the entries from number i on and returns how many there
	// are, at least one. REQUIRES: entry i exists. The caller must not change the entries. They
	// are valid until the next call with the same dst and scratch.
	read(i int, dst []Block, scratch *[]byte) (n int, err error)
}

// memoryEntries are entries in memory.
type memoryEntries []Block

func (m memoryEntries) read(i int, dst []Block, _ *[]byte) (int, error) {
	return copy(dst, m[i:]), nil
}

// An index contains the entries of one writer. If the memory for indexes is full, it stores the
// older entries in a file. Each region of the file is twice as large as the previous one, so a
// long run needs little more memory than a short one.
type index struct {
	in      *indexStore
	regions []int64 // offsets in the file; region r has space for firstRegion<<r entries
	stored  int     // number of entries in the file
	tail    []Block // the entries after the stored ones
}

const (
	// firstRegion is the number of entries in the first region of an index.
	firstRegion = 64

	// entryHead is the size of a stored entry before its key, and entrySum is the size of the
	// checksum after the key, in bytes.
	entryHead = 40
	entrySum  = 8
)

// regionOf returns the region of entry i and the position of the entry within the region.
func regionOf(i int) (region, place int) {
	region = bits.Len(uint(i/firstRegion+1)) - 1
	return region, i - firstRegion*(1<<region-1)
}

func (x *index) entryCount() int { return x.stored + len(x.tail) }

// add appends an entry. If the memory for indexes is full, it stores all entries.
func (x *index) add(b Block) error {
	x.tail = append(x.tail, b)
	if !x.in.noteHeld(1) || len(x.tail) < plan.LeastStored {
		return nil
	}
	return x.store(len(x.tail))
}

// store moves the first n entries in memory to the file.
func (x *index) store(n int) error {
	for done := 0; done < n; {
		region, place := regionOf(x.stored)
		room := firstRegion<<region - place
		if region == len(x.regions) {
			x.regions = append(x.regions, x.in.reserve(firstRegion<<region))
		}
		some := x.tail[done:min(done+room, n)]
		if err := x.in.write(
			x.regions[region]+int64(place)*x.in.entryBytes(), x.stored, some,
		); err != nil {
			return err
		}
		x.stored += len(some)
		done += len(some)
	}

	x.tail = append(x.tail[:0], x.tail[n:]...)
	x.in.noteReleased(n)
	if len(x.tail) == 0 {
		x.tail = nil
	}
	return nil
}

func (x *index) read(i int, dst []Block, scratch *[]byte) (int, error) {
	if i >= x.stored {
		return copy(dst, x.tail[i-x.stored:]), nil
	}
	region, place := regionOf(i)
	n := min(len(dst), x.stored-i, firstRegion<<region-place)
	return n, x.in.read(x.regions[region]+int64(place)*x.in.entryBytes(), i, dst[:n], scratch)
}

// release frees the memory and the file space of the index.
func (x *index) release() {
	x.in.noteReleased(len(x.tail))
	x.tail = nil
	for r, offset := range x.regions {
		x.in.release(offset, firstRegion<<r)
	}
	x.regions, x.stored = nil, 0
}

// An indexStore is the memory shared by all indexes of a spill, and the file for the entries that
// exceed it.
type indexStore struct {
	keyBytes int
	limit    int64 // limit for entries in memory in bytes; 0 means no limit
	create   func() (File, error)
	where    string // directory of the file, for messages
	kept     bool   // the file belongs to a checkpoint

	held atomic.Int64 // size of the entries in memory in bytes

	mu     sync.Mutex // protects the fields below
	file   File       // nil if nothing is stored
	end    int64
	buffer []byte
}

// noteHeld counts n more entries in memory. It reports whether all entries exceed the limit.
func (f *indexStore) noteHeld(n int) (full bool) {
	held := f.held.Add(int64(n) * plan.IndexEntryBytes(f.keyBytes))
	return f.limit > 0 && held > f.limit
}

// noteReleased counts n fewer entries in memory.
func (f *indexStore) noteReleased(n int) {
	f.held.Add(-int64(n) * plan.IndexEntryBytes(f.keyBytes))
}

// isFull reports whether the entries in memory exceed the limit.
func (f *indexStore) isFull() bool {
	return f.limit > 0 && f.held.Load() > f.limit
}

// entryBytes returns the size of a stored entry. Its integers are little-endian:
//
//	 0  record, from the start of the index   8
//	 8  offset in the volume                  8
//	16  checksum of the block                 8
//	24  records                               4
//	28  stored bytes                          4
//	32  volume                                4
//	36  codec                                 4
//	40  key of the first record
//	    XXH3 of all of this, seeded with the number of the entry, so that
//	    an entry in the wrong place is detected as well
func (f *indexStore) entryBytes() int64 {
	return int64(entryHead + f.keyBytes + entrySum)
}

// reserve returns the offset of a region for n entries. A region uses no disk space until it is
// written.
func (f *indexStore) reserve(n int) (offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	offset = f.end
	f.end += f.regionBytes(n)
	return offset
}

// regionBytes returns the size of n entries in the file.
func (f *indexStore) regionBytes(n int) int64 {
	return (int64(n)*f.entryBytes() + plan.SpillAlign - 1) &^ (plan.SpillAlign - 1)
}

// write stores entries. The first of them has the number first.
func (f *indexStore) write(offset int64, first int, all []Block) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.file == nil {
		if f.file, err = f.create(); err != nil {
			return err
		}
	}
	f.buffer = f.buffer[:0]
	for i := range all {
		f.buffer = appendEntry(f.buffer, &all[i], uint64(first+i))
	}
	if _, err = f.file.WriteAt(f.buffer, offset); err != nil {
		how := cmp.Or(OutOfRoom(err), "has no room for the index of the temporary data")
		return fmt.Errorf("temporary directory %s %s (name another with %v): %w",
			f.where, how, option.TempDirs, device.WithoutPath(err))
	}

	return nil
}

func appendEntry(p []byte, b *Block, number uint64) []byte {
	start := len(p)
	p = binary.LittleEndian.AppendUint64(p, uint64(b.First))
	p = binary.LittleEndian.AppendUint64(p, uint64(b.Offset))
	p = binary.LittleEndian.AppendUint64(p, b.Sum)
	p = binary.LittleEndian.AppendUint32(p, uint32(b.Records))
	p = binary.LittleEndian.AppendUint32(p, uint32(b.Bytes))
	p = binary.LittleEndian.AppendUint32(p, uint32(b.Volume))
	p = binary.LittleEndian.AppendUint32(p, uint32(b.Codec))
	p = append(p, b.Key...)
	return binary.LittleEndian.AppendUint64(p, xxh3.HashSeed(p[start:], number))
}

// read reads entries. The first of them has the number first. Their keys are stored in scratch.
func (f *indexStore) read(offset int64, first int, dst []Block, scratch *[]byte) error {
	size := int(f.entryBytes())
	if cap(*scratch) < len(dst)*size {
		*scratch = make([]byte, len(dst)*size)
	}
	p := (*scratch)[:len(dst)*size]
	if n, err := f.file.ReadAt(p, offset); n < len(p) {
		return f.damagedError(
			fmt.Errorf("temporary directory %s: read the index of temporary data at byte %d: %w",
				f.where, offset, device.WithoutPath(err)),
		)
	}
	for i := range dst {
		entry := p[i*size : (i+1)*size]
		body := entry[:size-entrySum]
		want := binary.LittleEndian.Uint64(entry[size-entrySum:])
		if got := xxh3.HashSeed(body, uint64(first+i)); got != want {
			return f.damagedError(
				fmt.Errorf(
					"temporary directory %s: the index of temporary data at byte %d is damaged: "+
						"checksum %016x instead of %016x (check the disk)",
					f.where, offset+int64(i*size), got, want,
				),
			)
		}
		dst[i] = Block{
			First:   int64(binary.LittleEndian.Uint64(body)),
			Offset:  int64(binary.LittleEndian.Uint64(body[8:])),
			Sum:     binary.LittleEndian.Uint64(body[16:]),
			Records: int(binary.LittleEndian.Uint32(body[24:])),
			Bytes:   int(binary.LittleEndian.Uint32(body[28:])),
			Volume:  int(binary.LittleEndian.Uint32(body[32:])),
			Codec:   format.Compression(binary.LittleEndian.Uint32(body[36:])),
			Key:     body[entryHead:],
		}
	}

	return nil
}

// damagedError wraps the error of an unreadable index. For a checkpoint, it adds advice.
func (f *indexStore) damagedError(err error) error {
	if f.kept {
		return errUnusable("%w", err)
	}
	return err
}

func (f *indexStore) release(offset int64, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		f.file.Release(offset, f.regionBytes(n))
	}
}

func (f *indexStore) close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// A Cursor reads the index of a run in order.
type Cursor struct {
	run     *Run
	next    int     // number of the next entry
	end     int     // number of the entry to stop at
	window  []Block // entries that were read but not yet returned
	read    []Block // memory of window
	scratch []byte
}

// cursorBlocks is the number of entries that a Cursor reads from a file at a time.
const cursorBlocks = 16

// Cursor returns a Cursor for the entries from i (inclusive) to j (exclusive).
func (r *Run) Cursor(i, j int) *Cursor {
	return &Cursor{run: r, next: i, end: j}
}

// Next returns the next entry, or nil after the last one. The entry is valid until the next call.
func (c *Cursor) Next() (*Block, error) {
	if c.next == c.end {
		return nil, nil
	}
	if len(c.window) == 0 {
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
	b := &c.window[0]
	c.window = c.window[1:]
	c.next++
	return b, nil
}

// fill reads some entries into the window.
func (c *Cursor) fill() error {
	if all, ok := c.run.inMemory(); ok {
		c.window = all[c.next:c.end]
		return nil
	}

	if c.read == nil {
		c.read = make([]Block, cursorBlocks)
	}
	n, err := c.run.entriesFrom(c.next, c.read[:min(cursorBlocks, c.end-c.next)], &c.scratch)
	c.window = c.read[:n]
	return err
}
