package merge

import (
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
)

// Options says how one merge is to be done.
type Options struct {
	Keyer       *format.Keyer
	Workers     int   // goroutines that merge
	BlockBytes  int   // largest block given to the writer, in bytes
	MemoryBytes int64 // all buffers of the merge together; 0: as much as it can put to use
	Limit       int64 // records to write; negative: all
	CheckOrder  bool  // notice an input that is not sorted; what a merge of unknown files needs

	Seen func(recs []byte) // is shown the records of Streams as they are read; nil: nobody is

	// Mark is told, about every MarkRecords, how many records have been cut off for workers, and up to which index that
	// is in each run. It is called in order, before these records are written. nil: nobody is told.
	Mark        func(records int64, upTo []int64)
	MarkRecords int64
}

// inWholeRecords is o with blocks of whole records.
func (o Options) inWholeRecords() *Options {
	size := o.recordSize()
	o.BlockBytes = max(o.BlockBytes/size, 1) * size
	return &o
}

func (o *Options) recordSize() int { return o.Keyer.Layout().RecordSize }

// DisorderError says that an input is not sorted. Input is its index, and Record the index in it of the record that
// belongs before the one it follows; Key and Before are the normalized keys of both. Messages count from 1.
type DisorderError struct {
	Input       int
	Record      int64
	Key, Before []byte
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf("merge: input %d: record %d is out of order", e.Input+1, e.Record+1)
}

// affordable is how many pieces of that many bytes fit beside the workers, of which it gives up some, but one, where
// that is not enough for those that are left.
func (o *Options) affordable(bytes int64, enough func(workers int) int64) int64 {
	for ; ; o.Workers-- {
		n := (o.MemoryBytes - int64(o.Workers)*o.workerBytes()) / bytes
		if n >= enough(o.Workers) || o.Workers == 1 {
			return n
		}
	}
}

func (o *Options) workerBytes() int64 { return plan.MergeWorker(o.Keyer, o.BlockBytes) }

// divide shares the memory between fanIn runs, whose blocks have up to blockRecords records, and the workers. It tells
// how many buffers for blocks there are, and how many blocks begin in one span.
//
// Of every run the block that the next splitter falls in must be in memory, and the blocks that begin in the spans in
// work: fanIn + workers·spanBlocks buffers, and some more to read ahead. As blocks are read in the order in which they
// are needed, it does not matter to which runs those belong. But where blocks of all runs begin at nearly the same key,
// all of them are needed until all of the next are there; then twice as many buffers let workers go on meanwhile.
func (o *Options) divide(fanIn, blockRecords int) (buffers, spanBlocks int, err error) {
	blockBytes := max(plan.MergeBuffer(o.Keyer, blockRecords), 8)
	spanBlocks = plan.MergeSpan(o.Keyer, o.BlockBytes, blockRecords, fanIn)
	useful := func() int { return 2*fanIn + 2*spanBlocks*(o.Workers+1) }
	if o.MemoryBytes == 0 {
		return useful(), spanBlocks, nil
	}
	buffers = int(o.affordable(blockBytes, func(workers int) int64 { return int64(fanIn + workers) }))
	if buffers <= fanIn {
		advice := "merge fewer at once"
		if fanIn <= 2 {
			advice = "raise the memory limit"
		}
		return 0, 0, fmt.Errorf("merge: %d runs with blocks of %d bytes need %d bytes of memory, there are %d: %s",
			fanIn, blockBytes, int64(fanIn+1)*blockBytes+o.workerBytes(), o.MemoryBytes, advice)
	}
	spanBlocks = max(1, min(spanBlocks, (buffers-fanIn)/(o.Workers+1)))
	return min(buffers, useful()), spanBlocks, nil
}

const (
	streamBuffers  = 3        // of each input of Streams: one that is merged, one to go on with, one that is read into
	minStreamBlock = 64 << 10 // bytes; workers are given up before blocks become smaller
)

// streamBlock is how many records a block of an input of Streams can have, so that all buffers fit.
func (o *Options) streamBlock(inputs int) (int, error) {
	perRecord := plan.MergeBuffer(o.Keyer, 1)
	records := int64(max(o.BlockBytes/o.recordSize(), 1))
	if o.MemoryBytes == 0 || inputs == 0 {
		return int(records), nil
	}
	all := int64(inputs*streamBuffers) * perRecord
	fits := o.affordable(all, func(int) int64 { return (minStreamBlock + perRecord - 1) / perRecord })
	if fits < 1 {
		return 0, fmt.Errorf("merge: %d inputs with records of %d bytes need %d bytes of memory, there are %d",
			inputs, o.recordSize(), all+o.workerBytes(), o.MemoryBytes)
	}
	return int(min(records, fits)), nil
}
