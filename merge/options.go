package merge

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

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
	var faults []error
	if o.Keyer == nil {
		return o, errors.New("merge: no key was given")
	}
	if o.Workers < 0 || o.BlockBytes < 0 || o.MemoryBytes < 0 {
		faults = append(faults, fmt.Errorf("merge: negative option: %d workers, blocks of %d bytes, %d bytes of memory",
			o.Workers, o.BlockBytes, o.MemoryBytes))
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.BlockBytes == 0 {
		o.BlockBytes = DefaultBlockBytes
	}
	size := o.recordSize()
	o.BlockBytes = max(o.BlockBytes/size, 1) * size
	return o, errors.Join(faults...)
}

func (o *Options) recordSize() int { return o.Keyer.Layout().RecordSize }

// Stats tells what a merge did. Seconds of reading and writing are summed over goroutines: where they come near
// to Workers·Seconds, the storage is what limits the merge.
type Stats struct {
	Records      int64   // written
	Ranges       int64   // pieces that were merged independently
	BytesRead    int64   // of records, after decompression
	Seconds      float64 // from start to end
	ReadSeconds  float64
	MergeSeconds float64
	WriteSeconds float64
}

// add sums the work of two merges that followed each other.
func (s Stats) add(t Stats) Stats {
	return Stats{
		s.Records + t.Records, s.Ranges + t.Ranges, s.BytesRead + t.BytesRead, s.Seconds + t.Seconds,
		s.ReadSeconds + t.ReadSeconds, s.MergeSeconds + t.MergeSeconds, s.WriteSeconds + t.WriteSeconds,
	}
}

// meters are the running sums behind Stats, shared by the goroutines of a merge.
type meters struct {
	began                  time.Time
	records, ranges, bytes atomic.Int64
	read, merge, write     atomic.Int64 // nanoseconds
}

func (m *meters) stats() Stats {
	return Stats{
		Records: m.records.Load(), Ranges: m.ranges.Load(), BytesRead: m.bytes.Load(),
		Seconds:     time.Since(m.began).Seconds(),
		ReadSeconds: seconds(&m.read), MergeSeconds: seconds(&m.merge), WriteSeconds: seconds(&m.write),
	}
}

func seconds(nanoseconds *atomic.Int64) float64 { return time.Duration(nanoseconds.Load()).Seconds() }

// DisorderError says that an input is not sorted. Input is its index, and Record the index in it of the record that belongs
// before the one it follows. What is shown counts inputs from 1, as do all messages.
type DisorderError struct {
	Input  int
	Record int64
}

func (e *DisorderError) Error() string {
	return fmt.Sprintf("merge: input %d: record %d is out of order", e.Input+1, e.Record)
}
