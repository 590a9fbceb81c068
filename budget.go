package extsort

import (
	"fmt"

	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// runtimeBytes is what a run needs besides chunks and buffers: the program's data, stacks, the Go heap with its
// garbage, block indexes.
const runtimeBytes = 12 << 20

// budgetOf is what chunks and buffers may use of a memory limit. Garbage and the rounding of large allocations to
// huge pages grow with the work: a sort of 4 GiB in 512 MiB took 7 MiB more than runtimeBytes leaves room for.
func budgetOf(memoryBytes int64) int64 { return memoryBytes - runtimeBytes - memoryBytes/48 }

// minWorkerBytes and minWorkerRecords are the least memory that is worth a worker: with less for each, a merge could take
// so few runs at a time that it needed several passes more.
const (
	minWorkerBytes   = 512 << 10
	minWorkerRecords = 8
)

// limitWorkers takes no more workers than the budget has memory for.
func (j *job) limitWorkers() {
	each := max(minWorkerBytes, minWorkerRecords*int64(j.size))
	j.opt.Workers = int(max(1, min(int64(j.opt.Workers), j.budget/each)))
}

// divideMemory settles how much of the memory limit chunks and buffers may use and how large they are.
func (j *job) divideMemory() error {
	j.limitBudget()
	j.reserveCodecs(false)
	j.reservePipe()
	j.blockBytes = j.opt.faults.block(j.chooseBlocks(), j.size)
	j.budget -= j.indexBytes(j.blockBytes)
	j.reserveBlocks()
	j.capacity, j.slots = j.chunkSize(1), 1
	if n := j.data.Records(); n < 0 || n > j.capacity || len(j.devices) > 1 {
		j.capacity, j.slots = j.chunkSize(slots), slots
	}
	if j.capacity < 1 {
		return j.tooLittle()
	}
	return nil
}

const (
	// enoughForFew is memory with which the first few records of an order take no longer than with more of it: of 1 GiB in a pipe they
	// took 0.4 to 0.65 s in 32 MiB to 1 GiB, and 0.45 to 3.5 in 4 GiB, which memory that was not used before is slow to touch.
	enoughForFew = 64 << 20

	// chunkOfLimit is how many times the records of a limit a chunk has at least: all others are left out before anything is spilled.
	chunkOfLimit = 16
)

// limitBudget takes no more memory than the first records of the order need, where all of the records do not fit it or may not.
func (j *job) limitBudget() {
	n, size := j.data.Records(), int64(j.size)
	if limit := j.limit(); limit >= 0 && limit < j.budget/(chunkOfLimit*size) && (n < 0 || n > j.budget/size) {
		j.budget = min(j.budget, max(enoughForFew, chunkOfLimit*limit*size))
	}
}

func (j *job) tooLittle() error {
	workers, advice := "one worker", "raise -S"
	if least := j.leastMemory(); least > j.opt.MemoryBytes {
		advice = fmt.Sprintf("raise -S, to %d MiB at least", least>>20)
	}
	if j.opt.Workers > 1 {
		workers, advice = fmt.Sprintf("%d workers", j.opt.Workers), advice+", or lower --parallel"
	}
	return fmt.Errorf("memory limit %s: too little to sort records of %d bytes with %s (%s)", humanBytes(j.opt.MemoryBytes), j.size, workers, advice)
}

// canMerge reports whether memory is enough to merge at all: blocks of large records may be too large for that.
func (j *job) canMerge() bool { return plan.LeastMerge(j.keyer, j.blockBytes) <= j.mergeBytes() }

// leastMemory is the least memory limit, in whole MiB, that leaves enough to merge if what else is reserved stays as it is: with
// more memory it is never less.
func (j *job) leastMemory() int64 {
	budget := plan.LeastMerge(j.keyer, j.blockBytes) * 8 / 7 // see mergeBytes
	limit := (budget + budgetOf(j.opt.MemoryBytes) - j.budget + runtimeBytes) * 48 / 47
	return limit>>20<<20 + 1<<20
}

// indexBytes estimates the index of all spilled blocks, which is kept in memory.
func (j *job) indexBytes(blockBytes int) int64 {
	return j.indexEntries(max(j.data.Records(), 0) * int64(j.size) / int64(blockBytes))
}

// indexEntries is the memory of the index of so many blocks.
func (j *job) indexEntries(blocks int64) int64 {
	return blocks * int64(blockEntryBytes+j.keyer.KeySize())
}

// chooseBlocks chooses the size of blocks: larger ones where the index of a huge input would else take more than an
// eighth of the memory.
func (j *job) chooseBlocks() int {
	block := blockBytes(j.budget, j.opt.Workers, j.size)
	for j.indexBytes(block) > j.budget/8 && int64(block) < j.budget/32 {
		block *= 2
	}
	return block
}

// blockEntryBytes is one block's entry in the index of a run, with the copies that sorting them takes.
const blockEntryBytes = 160

// reserveCodecs takes the memory of the compressors and decompressors out of the budget: half of it at most, with
// as few compressing workers as that takes. together says that inputs are not read one after another.
func (j *job) reserveCodecs(together bool) {
	var reading int64
	for _, in := range j.inputs {
		if one := format.CodecMemory(in.Compression, 0); together {
			reading += one
		} else {
			reading = max(reading, one)
		}
	}
	codec, err := j.outputCodec()
	if err != nil {
		return // openOutput reports it
	}
	j.codecWorkers = j.opt.Workers
	for j.codecWorkers > 1 && reading+format.CodecMemory(codec, j.codecWorkers) > j.budget/2 {
		j.codecWorkers--
	}
	j.budget -= min(reading+format.CodecMemory(codec, j.codecWorkers), j.budget/2)
}

// reserveBlocks takes out of the budget what depends on the size of blocks, and leaves out workers that the rest is too
// little for.
func (j *job) reserveBlocks() {
	j.reserveSpillCoders()
	j.reserveUnique()
	j.limitWorkers()
}

// reserveSpillCoders takes the memory of compressed spill out of the budget: an eighth of it, where that is enough for one
// block at a time.
func (j *job) reserveSpillCoders() {
	memory := func() int64 { return plan.SpillCodecMemory(j.opt.SpillCompress, j.spillCoders, j.blockBytes) }
	j.spillCoders = j.opt.Workers
	for j.spillCoders > 1 && memory() > j.budget/8 {
		j.spillCoders--
	}
	j.budget -= min(memory(), j.budget/2)
}

// reserveUnique takes the blocks that a Unique filter compacts out of the budget, one for each worker.
func (j *job) reserveUnique() {
	if j.opt.Unique {
		j.budget -= min(int64(j.opt.Workers)*int64(j.blockBytes), j.budget/4)
	}
}

// reservePipe takes the memory of a pipe's writer out of the budget of a sort to standard output, where it is a small part.
func (j *job) reservePipe() {
	if j.toStdout() && j.budget >= 16*pipe.WriterBytes {
		j.pipeBytes = pipe.WriterBytes
		j.budget -= j.pipeBytes
	}
}

const (
	maxBlockBytes = 1 << 20
	minBlockBytes = 32 << 10
)

// blockBytes chooses blocks that are as large as disks like them, but so small that a merge of many runs has
// buffers enough, and whole records.
func blockBytes(budget int64, workers, size int) int {
	block := maxBlockBytes
	for block > minBlockBytes && int64(block)*int64(64+8*workers) > budget {
		block /= 2
	}
	return max(block/size, 1) * size
}

// slots is the number of chunks that are in flight on a GPU when there is more than one chunk: one is loaded while
// another is sorted or stored.
const slots = 2

// slotsOf is the number of chunks that are in flight on d. The CPU's steps all share its processors, so that one
// large chunk is better there than several small ones.
func slotsOf(d device.Device, slots int) int {
	if d.Info().Kind == device.CPU {
		return 1
	}
	return slots
}

// chunkSize is the number of records that a chunk can have on every device.
func (j *job) chunkSize(slots int) int64 {
	capacity := j.opt.faults.capped(1<<63 - 1)
	for _, d := range j.devices {
		n := d.MaxRecords(j.chunkOptions(), j.slotBytes(slots))
		if d.Info().Kind != device.CPU {
			n /= int64(slots) // they share the device's memory
		}
		capacity = min(capacity, n)
	}
	return capacity
}

// slotBytes is the host memory of one chunk.
func (j *job) slotBytes(slots int) int64 {
	total := 0
	for _, d := range j.devices {
		total += slotsOf(d, slots)
	}
	return j.budget / int64(max(total, 1))
}

func (j *job) chunkOptions() device.ChunkOptions {
	opt := device.ChunkOptions{
		Keyer: j.keyer, BlockBytes: j.blockBytes, Workers: j.opt.Workers,
		Algorithm: j.opt.Algorithm, Sample: j.sample.Prefixes,
	}
	n := j.data.Records()
	bytes := n * int64(j.size)
	few := bytes > j.budget/4 && bytes <= mostPassesMoved*j.budget // what is less fits a chunk for certain
	if few && j.can().WholeRecords && (j.isApart() || j.wanted() >= 0) && j.canReread() {
		opt.SourceRecords = n
	}
	return opt
}
