package plan

import (
	"math"

	"github.com/extsort/extsort/format"
)

// slotsOnGPU is the number of chunks that are in flight on a GPU when there is more than one chunk: one is
// loaded while another is sorted or stored. The CPU's steps share its processors: there one large chunk is
// better.
const slotsOnGPU = 2

// SlotsOf is the number of chunks that are in flight on a device.
func (s *Sizes) SlotsOf(d *Device) int {
	if d.Host {
		return 1
	}
	return s.Slots
}

// divide shares the memory among the chunks of all devices.
func (c *chooser) shareMemory(slots int) {
	c.sizes.Slots = slots
	total := 0
	for i := range c.f.Devices {
		total += c.sizes.SlotsOf(&c.f.Devices[i])
	}
	c.sizes.ChunkBytes = c.sizes.Budget.Chunks() / int64(max(total, 1))
	c.capacity = c.chunkRecords(0)
}

// chunk is a chunk of so much memory, of a source that has more records.
func (s *Sizes) chunk(memory, source int64) Chunk {
	return Chunk{memory, s.BlockBytes, s.Workers, source}
}

// chunkRecords is the number of records that a chunk can have on every device, of a source that has more of
// them.
func (c *chooser) chunkRecords(source int64) int64 {
	capacity := int64(math.MaxInt64)
	if c.f.Request.ChunkRecords > 0 {
		capacity = c.f.Request.ChunkRecords
	}
	for _, d := range c.f.Devices {
		capacity = min(capacity, c.capacityOf(&d, source))
	}
	return capacity
}

// capacityOf is that number for one device, whose chunks in flight share its memory.
func (c *chooser) capacityOf(d *Device, source int64) int64 {
	slots := int64(c.sizes.SlotsOf(d))
	if d.Unified {
		return d.Capacity(c.sizes.chunk(min(c.sizes.ChunkBytes, d.Memory/slots), source))
	}
	return d.Capacity(c.sizes.chunk(c.sizes.ChunkBytes, source)) / slots
}

// storedBlock is the size of the blocks of a run: small chunks are stored in smaller ones.
func (c *chooser) storedBlock(records int64) int {
	if !c.f.onHost() {
		return c.sizes.BlockBytes
	}
	return c.f.Devices[0].StoredBlock(c.sizes.chunk(c.sizes.ChunkBytes, 0), records)
}

// cut chooses the chunks of the records. The last one is not spilled but merged from where it was sorted. The
// merge needs buffers beside it, so that chunks are smaller than one that may use all of the memory, of which
// none stays. The chunks of several devices share the host's memory, and those of a GPU lie in its own: what of
// these stays depends on nothing that could be cut for it.
func (c *chooser) cut(records int64) (runs int, stays int64) {
	least := int((records + c.capacity - 1) / max(c.capacity, 1))
	if !c.f.onHost() || records <= c.capacity {
		return least, 0
	}
	for runs = max(least, 2); runs <= c.sizes.FanIn; runs++ {
		if stays = c.staying(runs); stays < c.capacity/2 {
			break
		}
		if int64(runs)*stays >= records {
			return runs, stays
		}
	}
	return least, 0
}

// NextChunk is how many records the next chunk has at most, of those that are left; negative: not known. Where
// the last chunk stays in memory the first one is the smaller: of 1.2 chunks 0.2 are spilled.
func (a *Candidate) NextChunk(left int64) int64 {
	if left <= 0 || a.KeptRecords == 0 {
		return a.ChunkRecords
	}
	return (left-1)%a.KeptRecords + 1
}

// staying is the number of records of a chunk that can stay in memory beside a merge of runs. The chunk that
// they are loaded into is made for more, and wastes a little more for that.
func (c *chooser) staying(runs int) int64 {
	const waste = 12
	merge := mergeMemory(c.f.Keyer, c.sizes.BlockBytes, c.sizes.Workers, runs)
	memory := c.sizes.Without(merge + merge/waste)
	return min(c.f.Devices[0].Capacity(c.sizes.chunk(memory, 0)), c.capacity)
}

// WithoutMerge is the memory that a merge of runs does not need.
func (s *Sizes) WithoutMerge(f *Facts, runs int) int64 {
	return s.Without(mergeMemory(f.Keyer, s.BlockBytes, s.Workers, runs))
}

// Without is the memory beside bytes that are in use, but for what the Go heap keeps of the phase before.
func (s *Sizes) Without(bytes int64) int64 { return s.Budget.Chunks() - s.Budget.Chunks()/64 - bytes }

const (
	// partFill is how full a part's chunk is meant to be, so that the sample's error rarely makes one too
	// large.
	partFill = 0.85

	minScatterBlock = 4 << 10 // a page

	// LeastStored is the number of entries of an index that are worth a write. A writer keeps fewer in memory,
	// whatever the share of the indexes.
	LeastStored = 8
)

// partsOf is the number of parts for records in chunks of a capacity.
func partsOf(records, capacity int64) int {
	return int(max(1, math.Ceil(float64(records)/(partFill*float64(max(capacity, 1))))))
}

// FitParts settles how a pass over records fills the parts or, where memory is too little, fewer, which are
// partitioned again: then as few as need no pass more, so that few have to be.
func FitParts(f *Facts, s *Sizes, records int64, parts int) (opt Scatter, fit int) {
	if opt, fit = fitParts(f, s, records, parts); fit < parts {
		passes := Levels(parts, fit)
		opt, fit = fitParts(f, s, records, int(math.Ceil(math.Pow(float64(parts), 1/float64(passes)))))
	}
	return opt, fit
}

// fitParts does so for parts of which as many as possible are filled: every worker has a block of each in
// memory, and the smaller the blocks, the larger their index, which is in a file but for its share of the
// memory.
func fitParts(f *Facts, s *Sizes, records int64, parts int) (opt Scatter, fit int) {
	memory, size := s.Budget.Chunks(), f.recordSize()
	opt = Scatter{Workers: s.readers(f, parts), UnitBytes: MaxUnitBytes}
	if records < 0 {
		opt.Workers = 1 // a stream is read in order
	}
	for opt.UnitBytes > minScatterBlock && int64(opt.UnitBytes)*int64(16*opt.Workers) > memory {
		opt.UnitBytes /= 2
	}
	largest := s.BlockBytes
	if len(f.Devices) > 0 && f.Devices[0].Host {
		largest = min(largest, MaxUnitBytes)
	}
	for fit = parts; ; fit -= max(fit/8, 1) {
		for block := largest; ; block /= 2 {
			opt.BlockBytes = max(block/size, 1) * size
			opt.Sections = opt.sections(f, records*int64(size), fit)
			blocks := opt.Blocks(records*int64(size), fit)
			index := indexEntries(f, min(blocks, int64(fit*opt.Workers*LeastStored)))
			index = max(index, min(indexEntries(f, blocks), s.IndexBytes))
			if opt.Memory(fit)+index <= s.IndexBytes+memory || fit <= 2 {
				return opt, fit
			}
			if block <= minScatterBlock {
				break
			}
		}
	}
}

// sectionBlock is the least block of a part for which there are more workers than processors.
const sectionBlock = 64 << 10

// readers is how many workers read a section each. What comes over a network is late at times, and then its
// section waits, since a section is read in order: with more of them the others go on.
func (s *Sizes) readers(f *Facts, parts int) int {
	if !f.Remote {
		return s.Workers
	}
	fit := s.Budget.Chunks() / 2 / int64(parts*sectionBlock)
	return max(s.Workers, int(min(RemoteReaders, fit)))
}

const (
	sectionsEach  = 8 // that a worker reads one after another where some take longer than others
	sectionBlocks = 4 // of a part, that such a section fills at least: the last one is a part of a block
)

// sections is in how many of them the workers share the bytes of an input: the more, the less the last is
// waited for.
func (o *Scatter) sections(f *Facts, bytes int64, parts int) int {
	if !f.Remote {
		return o.Workers
	}
	fit := bytes / int64(parts*sectionBlocks*o.BlockBytes)
	return max(o.Workers, int(min(int64(sectionsEach*o.Workers), fit)))
}

// cachedSpillPart is the part of the memory that spill stays in until it is read back: Linux begins to write it
// to the disk when what is dirty exceeds a tenth of the memory that is not in use.
const cachedSpillPart = 16

// CachedSpill is how many bytes of spill are read back from memory, in all likelihood.
func (f *Facts) CachedSpill() int64 {
	if !f.Spill.OnDisk || f.Memory == 0 {
		return math.MaxInt64
	}
	return f.Memory / cachedSpillPart
}

// readAhead returns the most bytes of input that may be requested before they are needed.
func (f *Facts) readAhead() int64 { return max(f.Memory/cachedSpillPart, SmallBytes) }

// minPacked is the most that packing may leave for a plan to count on it: blocks are tried first when they are
// there.
const minPacked = 0.95

// packing is what compression leaves of runs that take temp bytes without it, as far as that can be told
// before, and how many numbers of each record it packs; 1 where that cannot be told, or runs stay in memory, as
// they are.
func (c *chooser) packing(temp int64) (keeps float64, numbers int) {
	keeps, numbers = 1, 1
	codec := c.f.Request.SpillCodec
	always := alwaysPacks(codec)
	if c.f.Records <= c.capacity || !always && temp <= c.f.CachedSpill() {
		return keeps, numbers
	}
	if packer := format.NewPacker(c.f.Keyer.Layout()); packer != nil {
		numbers = packer.Columns()
		if k := packer.Keeps(float64(c.capacity)); always || ChoosesCodec(codec) && k < minPacked {
			keeps = k
		}
	}
	if !always && SpillCodecs(codec) != nil && bare(c.f) {
		keeps = min(keeps, repeated(c.sorted()))
	}
	return keeps, numbers
}

// repeatBytes is the part that a compression of strings leaves of a record that is the same as the one before
// it.
const repeatBytes = 1.0 / 16

// repeated is what is left of bare keys in order where each that was seen before takes next to nothing. A key
// is new as often as the sample has keys that it has once (I. J. Good, "The population frequencies of species
// and the estimation of population parameters", 1953), and in a run, which has more keys, less often.
func repeated(keys []uint64) float64 {
	if len(keys) == 0 {
		return 1
	}
	once := 0
	for i := range keys {
		if isOnce(keys, i) {
			once++
		}
	}
	fresh := float64(once) / float64(len(keys))
	return fresh + (1-fresh)*repeatBytes
}
