package merge

import (
	"context"
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Options configures one merge.
type Options struct {
	Keyer       *format.Keyer
	Workers     int   // number of goroutines that merge
	BlockBytes  int   // size limit of a block passed to the writer
	MemoryBytes int64 // limit for all buffers of the merge together; 0 means no limit
	Limit       int64 // number of records to write; a negative value means all; see isLimited
	// return a DisorderError if an input is not sorted; set this for files of unknown origin
	CheckOrder bool

	// Seen is called with the records of Streams as they are read, unless it is nil.
	Seen func(recs []byte)

	// Interrupt is called when Streams fails or has written Limit records, unless it is nil. It ends
	// the reads of all inputs that block, with the given error.
	Interrupt func(cause error)

	// Combine returns a Combiner that writes to a merged run, unless it is nil. It is not used for
	// the last merge.
	Combine func(w device.BlockWriter) Combiner

	// Mark is called about every MarkRecords records, unless it is nil. It receives the number of
	// records in all spans cut so far, and the index up to which each run has been cut. Calls are
	// made in order, before the records are written.
	Mark        func(records int64, upTo []int64)
	MarkRecords int64
}

// isLimited reports whether the merge ends after Limit records.
func (o *Options) isLimited() bool {
	return o.Limit >= 0
}

// A Combiner is a filter that combines records with equal keys. Flush writes the records that it
// still holds.
type Combiner interface {
	device.BlockWriter
	Flush(ctx context.Context) error
}

// inWholeRecords returns a copy of o with BlockBytes rounded down to whole records.
func (o Options) inWholeRecords() *Options {
	size := o.recordSize()
	o.BlockBytes = max(o.BlockBytes/size, 1) * size
	return &o
}

func (o *Options) recordSize() int {
	return o.Keyer.Layout().RecordSize
}

// A DisorderError reports that an input is not sorted. Input is the index of the input. Record is
// the index, within the input, of the first record that belongs before its predecessor. Key and
// Before are the normalized keys of that record and of its predecessor. The error message counts
// inputs and records from 1.
type DisorderError struct {
	Input       int
	Record      int64
	Key, Before []byte
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf(
		"merge: input %d: record %d is out of order", e.Input+1, e.Record+1,
	)
}

// affordable returns how many pieces of the given size fit into memory next to the workers. enough
// returns how many pieces a number of workers needs. If fewer fit, affordable reduces o.Workers
// until enough of them fit, but not below 1.
func (o *Options) affordable(
	bytes int64, enough func(workers int) int64,
) int64 {
	for ; ; o.Workers-- {
		n := (o.MemoryBytes - int64(o.Workers)*o.workerBytes()) / bytes
		if n >= enough(o.Workers) || o.Workers == 1 {
			return n
		}
	}
}

func (o *Options) workerBytes() int64 {
	return plan.MergeWorker(o.Keyer, o.BlockBytes)
}

// divide shares the memory between the workers and fanIn runs, whose blocks contain up to
// blockRecords records. It returns the number of block buffers and the number of blocks that
// begin in one span.
//
// Each run needs the block that contains the next splitter, and each span in progress needs the
// blocks that begin in it. This takes fanIn + workers·spanBlocks buffers, plus a few for reading
// ahead. Blocks are read in the order in which they are needed, so it does not matter to which
// runs these belong. However, if the blocks of all runs begin at nearly the same keys, the merge
// needs all of them until it has all of their successors. Twice as many buffers then let the
// workers continue in the meantime.
func (o *Options) divide(
	fanIn, blockRecords int,
) (buffers, spanBlocks int, err error) {
	blockBytes := max(plan.MergeBuffer(o.Keyer, blockRecords), 8)
	spanBlocks = plan.MergeSpan(o.Keyer, o.BlockBytes, blockRecords, fanIn)
	useful := func() int { return 2*fanIn + 2*spanBlocks*(o.Workers+1) }
	if o.MemoryBytes == 0 {
		return useful(), spanBlocks, nil
	}
	buffers = int(o.affordable(blockBytes, func(workers int) int64 {
		return int64(fanIn + workers)
	}))
	if buffers <= fanIn {
		advice := "merge fewer at once"
		if fanIn <= 2 {
			advice = "raise the memory limit"
		}
		return 0, 0, fmt.Errorf(
			"merge: %d runs with blocks of %d bytes need %d bytes of memory, there are %d: %s",
			fanIn, blockBytes, int64(fanIn+1)*blockBytes+o.workerBytes(), o.MemoryBytes,
			advice,
		)
	}

	spanBlocks = max(1, min(spanBlocks, (buffers-fanIn)/(o.Workers+1)))
	return min(buffers, useful()), spanBlocks, nil
}

const (
	streamBuffers  = 3        // per input of Streams: one being merged, one waiting, one being read
	minStreamBlock = 64 << 10 // bytes; use fewer workers rather than smaller blocks
)

// streamBlock returns the number of records in a block of one input of Streams, such that all
// buffers fit into memory.
func (o *Options) streamBlock(inputs int) (int, error) {
	perRecord := plan.MergeBuffer(o.Keyer, 1)
	records := int64(max(o.BlockBytes/o.recordSize(), 1))
	if o.MemoryBytes == 0 || inputs == 0 {
		return int(records), nil
	}
	all := int64(inputs*streamBuffers) * perRecord
	fits := o.affordable(all, func(int) int64 {
		return (minStreamBlock + perRecord - 1) / perRecord
	})
	if fits < 1 {
		return 0, fmt.Errorf(
			"merge: %d inputs with records of %d bytes need %d bytes of memory, there are %d",
			inputs, o.recordSize(), all+o.workerBytes(), o.MemoryBytes,
		)
	}
	return int(min(records, fits)), nil
}
