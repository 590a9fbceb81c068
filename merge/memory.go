package merge

import (
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
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
	blockBytes := max(plan.MergeBuffer(o.Keyer, blockRecords), 8)
	s := share{workers: o.Workers, spanBlocks: plan.MergeSpan(o.Keyer, o.BlockBytes, blockRecords, fanIn)}
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
				fanIn, blockBytes, int64(fanIn+1)*blockBytes+o.workerBytes(), o.MemoryBytes, advice)
		}
		s.buffers = int((o.MemoryBytes - int64(s.workers)*o.workerBytes()) / blockBytes)
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

// workerBytes is the memory of one worker.
func (o *Options) workerBytes() int64 { return plan.MergeWorker(o.Keyer, o.BlockBytes) }
