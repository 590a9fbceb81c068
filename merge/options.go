package merge

import (
	"fmt"

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
