package merge

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/extsort/extsort/format"
)

// Options says how one merge is to be done.
type Options struct {
	Keyer       *format.Keyer
	Workers     int   // goroutines that merge; 0: GOMAXPROCS
	BlockBytes  int   // largest block given to the writer, in bytes; 0: DefaultBlockBytes
	MemoryBytes int64 // all buffers of the merge together; 0: as much as it can put to use
	Limit       int64 // records to write; negative: all
	CheckOrder  bool  // notice an input that is not sorted; what a merge of unknown files needs
}

// DefaultBlockBytes is the size of output blocks unless Options says otherwise: large enough that a write costs
// little more than its bytes, small enough that a block is still in cache when it is written.
const DefaultBlockBytes = 1 << 20

// withDefaults fills in what was left open, and makes blocks whole records.
func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	size := o.recordSize()
	o.BlockBytes = max(cmp.Or(o.BlockBytes, DefaultBlockBytes)/size, 1) * size
	return o
}

func (o *Options) recordSize() int { return o.Keyer.Layout().RecordSize }

// DisorderError says that an input is not sorted. Input is its index, and Record the index in it of the record that
// belongs before the one it follows. Messages count inputs from 1.
type DisorderError struct {
	Input  int
	Record int64
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf("merge: input %d: record %d is out of order", e.Input+1, e.Record)
}
