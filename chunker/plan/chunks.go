package plan

import (
	"math"

	"github.com/extsort/extsort/format"
)

// slotsOnGPU is the number of chunks in flight on a GPU if there is more than one chunk: one is
// loaded while another is sorted or stored. On the CPU all steps share the processors, so one large
// chunk is better.
const slotsOnGPU = 2

// SlotsOf returns the number of chunks in flight on a device.
func (s *Sizes) SlotsOf(d *Device) int {
	if d.Host {
		return 1
	}
	return s.Slots
}

// shareMemory divides the memory among the chunks of all devices, with a number of slots on each
// GPU.
func (c *chooser) shareMemory(slots int) {
	c.sizes.Slots = slots
	total := 0
	for i := range c.f.Devices {
		total += c.sizes.SlotsOf(&c.f.Devices[i])
	}
	c.sizes.ChunkBytes = c.sizes.Budget.Chunks() / int64(max(total, 1))
	c.capacity = c.chunkRecords(0)
}

// chunk returns a chunk with the given memory. source is the number of records from which the chunk
// selects a key range; 0 means that it takes all records.
func (s *Sizes) chunk(memory, source int64) Chunk {
	return Chunk{memory, s.BlockBytes, s.Workers, source}
}

// chunkRecords returns the number of records that a chunk can hold on every device. source is the
// number of records from which the chunk selects; 0 means that it takes all records.
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

// capacityOf returns the number of records that a chunk can hold on one device. All chunks in
// flight on a device share its memory.
func (c *chooser) capacityOf(d *Device, source int64) int64 {
	slots := int64(c.sizes.SlotsOf(d))
	if d.Unified {
		return d.Capacity(c.sizes.chunk(min(c.sizes.ChunkBytes, d.Memory/slots), source))
	}
	return d.Capacity(c.sizes.chunk(c.sizes.ChunkBytes, source)) / slots
}

// storedBlock returns the size of the blocks of a run: small chunks are stored in smaller blocks.
func (c *chooser) storedBlock(records int64) int {
	if !c.f.onHost() {
		return c.sizes.BlockBytes
	}
	return c.f.Devices[0].StoredBlock(c.sizes.chunk(c.sizes.ChunkBytes, 0), records)
}

// cut returns the number of runs. If the last chunk stays in memory for the merge, cut also returns
// the number of records in each chunk, otherwise 0. Such chunks are smaller than the capacity,
// because the merge needs memory for its buffers in addition to the last chunk. The last chunk
// stays in memory only if the CPU is the only device: the chunks of several devices share the
// host's memory, and a GPU's chunks are in its own memory.
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

// NextChunk returns the maximum number of records in the next chunk. left is the number of
// remaining records; negative: not known. If the last chunk stays in memory, the first one is the
// smallest. An input of 1.2 chunks, for example, spills only 0.2 of a chunk.
func (a *Candidate) NextChunk(left int64) int64 {
	if left <= 0 || a.KeptRecords == 0 {
		return a.ChunkRecords
	}
	return (left-1)%a.KeptRecords + 1
}

// staying returns the maximum number of records in a chunk that stays in memory while the given
// number of runs is merged. The chunk is created for more records than that, which wastes a little
// memory.
func (c *chooser) staying(runs int) int64 {
	const waste = 12
	merge := mergeMemory(c.f.Keyer, c.sizes.BlockBytes, c.sizes.Workers, runs)
	memory := c.sizes.Without(merge + merge/waste)
	return min(c.f.Devices[0].Capacity(c.sizes.chunk(memory, 0)), c.capacity)
}

// WithoutMerge returns the memory left over by a merge of the given number of runs.
func (s *Sizes) WithoutMerge(f *Facts, runs int) int64 {
	return s.Without(mergeMemory(f.Keyer, s.BlockBytes, s.Workers, runs))
}

// Without returns the memory that remains while the given number of bytes is in use. It leaves a
// margin, because the Go heap still holds a little memory from the previous phase.
func (s *Sizes) Without(bytes int64) int64 { return s.Budget.Chunks() - s.Budget.Chunks()/64 - bytes }

const (
	// maxPartFill and minPartFill limit the fraction of a chunk that a part should fill. Parts
	// below minPartFill would cost more than partitioning a few oversized parts again.
	maxPartFill = 0.85
	minPartFill = 0.7

	// partDeviations is the margin of a part for the error of the sample, in standard deviations.
	// partSlack is the margin for a classifier that divides by digits (chunker.digitSlack).
	partDeviations = 3.5
	partSlack      = 0.05

	minScatterBlock = 4 << 10 // a page

	// LeastStored is the least number of index entries that are worth a write. Fewer entries stay
	// in memory, even if the indexes have no memory left.
	LeastStored = 8
)

// partFill returns the fraction of a chunk that each of a number of parts should fill, so that
// hardly any part is too large. On average, a part contains keys/parts keys of the sample. The
// relative error of its size is that of this number.
func partFill(parts float64, keys int) float64 {
	deviation := math.Sqrt(parts / float64(max(keys, 1)))
	fill := 1 / ((1 + partSlack) * (1 + partDeviations*deviation))
	return max(minPartFill, min(fill, maxPartFill))
}

// partsOf returns the number of parts, so that each part fits in a chunk of the given capacity.
// keys is the number of sample keys from which the parts are determined.
func partsOf(records, capacity int64, keys int) int {
	parts := float64(records) / float64(max(capacity, 1))
	return int(max(1, math.Ceil(parts/partFill(parts, keys))))
}

// FitPartitions divides the memory of a pass that distributes records to parts. fit is the number of
// parts that the pass fills.
//
// Each worker has a buffer of one block for each part, and each block that is written has an entry
// in the index:
//
//	workers × (parts × block + unit) + entries ≤ memory
//
// So smaller blocks make room for more parts. If even the smallest blocks leave no room for all
// parts, the pass fills fewer, larger parts, and further passes divide these. The pass then fills
// the fewest parts with which no additional pass is needed. For example, if 1000 parts take two
// passes, each pass divides by 32. Fewer parts allow larger blocks.
func FitPartitions(f *Facts, s *Sizes, records int64, parts int) (scatter Scatter, fit int) {
	scatter, fit = mostParts(f, s, records, parts)
	if fit >= parts {
		return scatter, fit
	}
	passes := Levels(parts, fit)
	equalPasses := int(math.Ceil(math.Pow(float64(parts), 1/float64(passes))))
	return mostParts(f, s, records, equalPasses)
}

// mostParts returns a pass that fills all parts, with the largest blocks that fit in memory. If not
// even the smallest blocks fit, the pass fills as many parts as possible.
func mostParts(f *Facts, s *Sizes, records int64, parts int) (scatter Scatter, fit int) {
	scatter = scatterUnits(f, s, records, parts)
	for fit = parts; ; fit -= max(fit/8, 1) {
		for block := maxScatterBlock(f, s); ; block /= 2 {
			setScatterBlock(f, &scatter, block, records, fit)
			if fit <= leastFit || scatterMemory(f, s, &scatter, records, fit) <= s.IndexBytes+s.Budget.Chunks() {
				return scatter, fit
			}
			if block <= minScatterBlock {
				break
			}
		}
	}
}

// leastFit is the number of parts that a pass fills even if there is too little memory for them.
const leastFit = 2

// scatterUnits returns a pass with the number of workers and the size of the units that they read.
// The units are small enough for the memory.
func scatterUnits(f *Facts, s *Sizes, records int64, parts int) Scatter {
	scatter := Scatter{Workers: s.readers(f, parts), UnitBytes: MaxUnitBytes}
	if f.Request.CombinesRuns {
		scatter.CombinerBytes = combinerBytes
	}
	if records < 0 {
		scatter.Workers = 1 // a stream is read in order
	}
	for scatter.UnitBytes > minScatterBlock && int64(scatter.UnitBytes*16*scatter.Workers) > s.Budget.Chunks() {
		scatter.UnitBytes /= 2
	}
	return scatter
}

// maxScatterBlock returns the size of the largest blocks that a pass may write.
func maxScatterBlock(f *Facts, s *Sizes) int {
	if len(f.Devices) > 0 && f.Devices[0].Host {
		return min(s.BlockBytes, MaxUnitBytes)
	}
	return s.BlockBytes
}

// setScatterBlock sets the size of a block, which consists of whole records, and the number of
// sections, which depends on it.
func setScatterBlock(f *Facts, scatter *Scatter, block int, records int64, parts int) {
	size := f.recordSize()
	scatter.BlockBytes = max(block/size, 1) * size
	scatter.Sections = scatter.sections(f, records*int64(size), parts)
}

// scatterMemory returns the memory of a pass: its buffers, and the part of the index that is in
// memory. The rest of the index is in a file, but every writer keeps a few entries.
func scatterMemory(f *Facts, s *Sizes, scatter *Scatter, records int64, parts int) int64 {
	blocks := scatter.Blocks(records*int64(f.recordSize()), parts)
	leastEntries := min(blocks, int64(parts*scatter.Workers*LeastStored))
	index := max(indexEntries(f, leastEntries), min(indexEntries(f, blocks), s.IndexBytes))
	return scatter.Memory(parts) + index
}

// sectionBlock is the least size of the blocks of a part if there are more workers than processors.
const sectionBlock = 64 << 10

// readers returns how many workers read one section each. Network reads can stall, and a section is
// read in order, so remote inputs get more sections than there are processors.
func (s *Sizes) readers(f *Facts, parts int) int {
	if !f.Remote {
		return s.Workers
	}
	fit := s.Budget.Chunks() / 2 / int64(parts*sectionBlock)
	return max(s.Workers, int(min(RemoteReaders, fit)))
}

const (
	sectionsEach  = 8 // sections per worker: several, because some take longer than others
	sectionBlocks = 4 // least blocks that a section adds to a part; the last one is not full
)

// sections returns the number of sections of an input. The more there are, the shorter is the wait
// for the last one.
func (o *Scatter) sections(f *Facts, bytes int64, parts int) int {
	if !f.Remote {
		return o.Workers
	}
	fit := bytes / int64(parts*sectionBlocks*o.BlockBytes)
	return max(o.Workers, int(min(int64(sectionsEach*o.Workers), fit)))
}

// Temporary data of up to 1/cachedSpillPart of the memory stays in the page cache until it is read
// back. Linux starts to write dirty pages to the disk when they exceed a tenth of the unused
// memory.
const cachedSpillPart = 16

// CachedSpill returns how many bytes of temporary data are likely to be read back from memory.
func (f *Facts) CachedSpill() int64 {
	if !f.Spill.OnDisk || f.Memory == 0 {
		return math.MaxInt64
	}
	return f.Memory / cachedSpillPart
}

// readAhead returns how many bytes of input may be requested before they are needed.
func (f *Facts) readAhead() int64 { return max(f.Memory/cachedSpillPart, SmallBytes) }

// minPacked is the worst compression ratio that a plan relies on. A run decides by trials whether
// it compresses blocks.
const minPacked = 0.95

// packing returns the compression ratio of runs, and how many numbers of each record are packed.
// temp is the uncompressed size of the runs. The ratio is 1 if it cannot be predicted, or if the
// runs stay in memory uncompressed.
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

// repeatBytes is the fraction that compression leaves of a record that equals the one before it.
const repeatBytes = 1.0 / 16

// repeated returns the compression ratio of sorted bare keys, assuming that a repeated key takes
// next to nothing. The share of new keys is estimated by the share of keys that occur once in the
// sample (I. J. Good, "The population frequencies of species and the estimation of population
// parameters", 1953). A run has more keys than the sample, so fewer of them are new.
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
