package merge

import (
	"fmt"

	"github.com/extsort/extsort/format"
)

// share is how a merge of runs divides its memory.
type share struct {
	workers    int
	buffers    int // for input blocks, all together
	spanBlocks int // blocks that begin in one span
}

// divide shares the memory between fanIn runs, whose blocks have up to blockRecords records, and the workers.
//
// Of every run the block that the next splitter falls in must be in memory, and the blocks that begin in the
// spans in work: fanIn + workers·spanBlocks buffers, and some more to read ahead. As blocks are read in the order
// in which they are needed, it does not matter to which runs those belong, so a few are enough for any fan-in. But
// where blocks of all runs begin at nearly the same key, all of them are needed until all of the next are there; then
// twice as many buffers let workers go on meanwhile.
func (o *Options) divide(fanIn, blockRecords int) (share, error) {
	blockBytes := max(bufferBytes(o.Keyer, blockRecords), 8)
	s := share{workers: o.Workers, spanBlocks: o.spanBlocks(fanIn, blockRecords)}
	if o.MemoryBytes == 0 {
		s.buffers = s.mostBuffers(fanIn)
		return s, nil
	}
	for ; ; s.workers-- {
		if s.workers == 0 {
			advice := "merge fewer at once"
			if fanIn <= 2 {
				advice = "raise the memory limit"
			}
			return s, fmt.Errorf("merge: %d runs with blocks of %d bytes need %d bytes of memory, there are %d: %s",
				fanIn, blockBytes, int64(fanIn+1)*blockBytes+workerBytes(o), o.MemoryBytes, advice)
		}
		s.buffers = int((o.MemoryBytes - int64(s.workers)*workerBytes(o)) / blockBytes)
		if s.buffers >= fanIn+s.workers {
			break
		}
	}
	s.spanBlocks = max(1, min(s.spanBlocks, (s.buffers-fanIn)/(s.workers+1)))
	s.buffers = min(s.buffers, s.mostBuffers(fanIn))
	return s, nil
}

// mostBuffers is how many buffers can be of use.
func (s *share) mostBuffers(fanIn int) int { return 2*fanIn + 2*s.spanBlocks*(s.workers+1) }

// spanBlocks is how many blocks begin in a span: about as many as fill one output block, so that writers in
// order alternate, but with enough records that finding the cut in each run does not show.
func (o *Options) spanBlocks(fanIn, blockRecords int) int {
	blockRecords = max(blockRecords, 1)
	outRecords := o.BlockBytes / o.recordSize()
	return max(1, outRecords/blockRecords, 32*fanIn/blockRecords)
}

// MemoryFor is the memory with which a merge of fanIn runs with blocks of blockBytes, and output blocks of the same
// size, keeps that many workers busy.
func MemoryFor(k *format.Keyer, blockBytes, workers, fanIn int) int64 {
	o := Options{Keyer: k, BlockBytes: blockBytes}
	blockRecords := max(blockBytes/o.recordSize(), 1)
	buffers := fanIn + 2*o.spanBlocks(fanIn, blockRecords)*(workers+1)
	return int64(workers)*workerBytes(&o) + int64(buffers)*bufferBytes(k, blockRecords)
}

// Least is the least memory with which two runs with blocks of blockBytes can be merged.
func Least(k *format.Keyer, blockBytes int) int64 {
	o := Options{Keyer: k, BlockBytes: blockBytes}
	return workerBytes(&o) + 3*max(bufferBytes(k, blockBytes/o.recordSize()), 8)
}

// MaxFanIn is how many runs with blocks of blockBytes can be merged at once by that many workers, with output
// blocks of the same size, within memoryBytes. It may be less than 2: then memory is too small for such blocks.
func MaxFanIn(k *format.Keyer, blockBytes, workers int, memoryBytes int64) int {
	o := Options{Keyer: k, BlockBytes: blockBytes}
	blockRecords := max(blockBytes/o.recordSize(), 1)
	left := memoryBytes - int64(workers)*workerBytes(&o)
	return int(max(left/bufferBytes(k, blockRecords)-int64(workers)-1, 0))
}
