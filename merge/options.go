package merge

import (
	"errors"
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

// withDefaults fills in what was left open and reports what cannot be done.
func (o Options) withDefaults() (Options, error) {
	if o.Keyer == nil {
		return o, errors.New("merge: no key was given")
	}
	if o.Workers < 0 || o.BlockBytes < 0 || o.MemoryBytes < 0 {
		return o, fmt.Errorf("merge: negative option: %d workers, blocks of %d bytes, %d bytes of memory",
			o.Workers, o.BlockBytes, o.MemoryBytes)
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BlockBytes == 0 {
		o.BlockBytes = DefaultBlockBytes
	}
	size := o.recordSize()
	o.BlockBytes = max(o.BlockBytes/size, 1) * size
	return o, nil
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
