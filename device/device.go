// Package device sorts one chunk of records at a time.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Device is something that can sort: the CPU (package cpu) or an OpenCL device (package opencl). It hands out
// Chunks, which own the memory that records occupy while they are sorted; for a GPU that is device memory, and
// the host keeps only a small ring of staging buffers. A chunk is used in three steps, again and again:
//
//	Load   streams records in from a Source, by several readers at once
//	Sort   orders them
//	Store  streams the sorted records out as blocks to a BlockWriter, by several writers at once
//
// Several chunks of one device may be in different steps at the same time. Every device and every algorithm
// gives the same bytes: the stable order of the layout's key. Package devicetest holds each device to that.
package device

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// Source streams the records of one chunk. Next is safe for concurrent use: every call claims the next records.
type Source interface {
	// Next claims the next n ≤ max records, n ≥ 1, asks place for the memory to put them in (n·RecordSize
	// bytes for the records from index first on, counted from 0 in each Source) and reads them into it.
	// A Source that does not know how many records will come asks for max and may then deliver fewer; the
	// result n counts. place is called at most once. n is 0 at the end of the source. Any block may be short, and
	// another Source of the same records may cut other blocks: FullBlocks is for callers that need equal ones.
	Next(max int, place func(first int64, n int) []byte) (first int64, n int, err error)

	// Records is the number of records the source has in all, or -1 when that is not known before the end.
	Records() int64
}

// Sampled is a Source that may know prefixes (Keyer.Prefix) of some of its records, in no particular order. If
// there are any, they tell more of its records than ChunkOptions.Sample, which is of all the data. They are not to
// be changed.
type Sampled interface {
	Source
	Sample() []uint64
}

// BlockWriter takes a sorted stream in blocks. WriteBlock gets consecutive records of the stream, the first of
// them with index first; recs may be reused after it returns. It is called from several goroutines and in any
// order, but the calls are begun so that waiting for the blocks before one's own never deadlocks: a caller
// begins the blocks in order of first, and the goroutine that has the lowest unwritten block never waits for
// another block.
type BlockWriter interface {
	WriteBlock(ctx context.Context, first int64, recs []byte) error
}

// BlockWriterFunc makes a BlockWriter of a function.
type BlockWriterFunc func(ctx context.Context, first int64, recs []byte) error

// WriteBlock calls f.
func (f BlockWriterFunc) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	return f(ctx, first, recs)
}

// Discard keeps nothing.
var Discard = BlockWriterFunc(func(context.Context, int64, []byte) error { return nil })

// Info describes a device to users and to the planner. Rates are 0 until measured.
type Info struct {
	Index         int      `json:"index"`            // number in the list of all devices; the CPU is 0
	Name          string   `json:"name"`             // as the driver calls it
	Driver        string   `json:"driver,omitempty"` // API and driver version
	Kind          Kind     `json:"kind"`
	Units         int      `json:"units"`          // processors or compute units
	MemoryBytes   int64    `json:"memory_bytes"`   // that chunks can use; 0: the host's, see ChunkOptions.MemoryBytes
	UnifiedMemory bool     `json:"unified_memory"` // it is the host's: ChunkOptions.MemoryBytes includes it
	MaxAlloc      int64    `json:"-"`              // largest single allocation in bytes, 0: no limit of its own
	LinkRate      float64  `json:"link_rate"`      // bytes per second between host and device, each way
	SortRate      float64  `json:"sort_rate"`      // bytes per second, u64 keys
	Algorithms    []string `json:"algorithms"`

	DriverName     string `json:"-"` // Name of the Driver that lists it
	Number         int    `json:"-"` // number in the list of its Driver, from 1
	Host           bool   `json:"-"` // it is the host's processors, which sort in the host's memory
	Automatic      bool   `json:"-"` // sorts may choose it, as a processor behind a link; else only users can, by its name
	VariableDigits bool   `json:"-"` // OpenOptions.DigitBits has an effect
}

// Kind says what sort of device it is, in a word for users. Programs ask for the properties in Info.
type Kind string

// The kinds of the drivers that there are. A driver may have another one.
const (
	CPU         Kind = "cpu"
	GPU         Kind = "gpu"
	Accelerator Kind = "accelerator"
	OpenCLCPU   Kind = "opencl-cpu" // an OpenCL device that is the host's processor: used only when named
)

// ChunkOptions says what the chunks of one sort are.
type ChunkOptions struct {
	Keyer       *format.Keyer
	Records     int64  // capacity in records, as MaxRecords allows it
	MemoryBytes int64  // host memory that this chunk may use, all in all
	BlockBytes  int    // size of the blocks that Store writes, at most, in bytes (at least one record)
	Workers     int    // goroutines for each step; 0: GOMAXPROCS
	Algorithm   string // one of Info.Algorithms; "": the device's choice

	// SourceRecords is how many records the sources have that the chunk takes a part of, see Chunk.Select; 0: no more
	// than fit. More cost time, never correctness.
	SourceRecords int64

	// Sample holds prefixes (Keyer.Prefix) of some of the records to come, in no particular order. It steers
	// how the chunk is cut into buckets; a sample that misleads costs time, never correctness.
	Sample []uint64
}

// Capabilities says what the chunks of a device do with records of one layout.
type Capabilities struct {
	// Histogram says that keys are counted and records rebuilt from the counts: a chunk holds any number of them.
	Histogram bool

	// WholeRecords says that records that are more than a key of 8 bytes are moved whole, with their keys, so that no
	// step takes them from random places in memory.
	WholeRecords bool

	Selects bool // Chunk.Select loads by the key; else it fails with errors.ErrUnsupported
	Keeps   bool // Chunk.Keep keeps what there is room for; else it returns nil

	SelectSeconds float64 // that a worker needs to leave out a record in Select, beside reading it
}

// Device sorts chunks. Its methods are safe for concurrent use.
type Device interface {
	Info() Info

	// Capabilities says what chunks can do with the records of opt.Keyer by opt.Algorithm.
	Capabilities(opt ChunkOptions) Capabilities

	// MaxRecords is the largest chunk, in records, that can be sorted within memoryBytes of host memory (and
	// the device's own).
	MaxRecords(opt ChunkOptions, memoryBytes int64) int64

	// BlockBytes is the size of the blocks that a chunk of records is stored in, at most: opt.BlockBytes, or
	// less where the chunk is small.
	BlockBytes(opt ChunkOptions, records int64) int

	// NewChunk allocates a chunk. Its memory is allocated here or at first use, and kept until Close.
	NewChunk(ctx context.Context, opt ChunkOptions) (Chunk, error)

	Close() error
}

// Chunk is memory for one chunk and the means to sort it. One step runs at a time.
type Chunk interface {
	// Load replaces the content by the records of src until it ends or the chunk is full.
	Load(ctx context.Context, src Source) (records int64, err error)

	// Sort orders the records. A device may put off part of the work until Store, so that it overlaps with
	// the writing.
	Sort(ctx context.Context) error

	// Store writes the first limit records of the sorted order (all of them for limit < 0) to w. drain: the chunk is
	// empty afterwards, until the next Load. It may give memory back while it writes, so that what is written has pages
	// that were just in use: pages that nobody has touched for long may cost more than all the sorting.
	Store(ctx context.Context, limit int64, drain bool, w BlockWriter) error

	// Select is Load of those records of src whose prefix (Keyer.Prefix) is from low to high, for data that is sorted in
	// several passes, the least keys first. It may leave more out where there is no room for all: those with the greatest
	// prefixes. Then the records loaded are those from low to last, less than high. It fails with ErrTooMany if it cannot
	// leave out enough, and with errors.ErrUnsupported, before it has read anything, if Capabilities.Selects is false.
	// REQUIRES: src knows how many records it has.
	Select(ctx context.Context, src Source, low, high uint64) (records int64, last uint64, err error)

	// Keep, which follows Sort, makes the first limit records of the sorted order (all of them for limit < 0) readable
	// where they are until the next Load or Close, as a merge needs them: what is in memory at the end need not be
	// spilled. It does nothing and returns nil if the chunk would go on to occupy more than memoryBytes of host memory, or
	// if Capabilities.Keeps is false. Store may follow it if it returned nil.
	Keep(ctx context.Context, limit, memoryBytes int64) (*Kept, error)

	// Stats tells of the work since the last Load.
	Stats() Stats

	// Close gives the memory back.
	Close() error
}

// Plain is what a Chunk embeds whose device neither Selects nor Keeps.
type Plain struct{}

// Select fails.
func (Plain) Select(context.Context, Source, uint64, uint64) (int64, uint64, error) {
	return 0, 0, errors.ErrUnsupported
}

// Keep keeps nothing.
func (Plain) Keep(context.Context, int64, int64) (*Kept, error) { return nil, nil }

// ErrTooMany is what Select gives if it cannot leave out enough: most of the records may have the same key.
var ErrTooMany = errors.New("more records with nearly the same key than fit in a chunk")

// Kept is the sorted records of a chunk that keeps them.
type Kept struct {
	Blocks []KeptBlock // in order, of ChunkOptions.BlockBytes at most
	Bytes  int64       // host memory that the chunk occupies as long as it keeps them

	// Read gives the records of block i: in dst, which has room for them, or where they lie. It is safe for
	// concurrent use.
	Read func(i int, dst []byte) ([]byte, error)
}

// KeptBlock is consecutive records of a sorted order.
type KeptBlock struct {
	First   int64 // index in that order of the first of them
	Records int
	Key     []byte // normalized key of the first of them
}

// Stats tells how a chunk was sorted.
type Stats struct {
	Records   int64
	Algorithm string
	Passes    int // radix passes over the data, the largest number that any key took
}

// Each runs f for every worker in a goroutine of its own and waits for all. An error cancels the context of the others.
func Each(ctx context.Context, workers int, f func(ctx context.Context, i int) error) error {
	group, ctx := safely.WithContext(ctx)
	for i := range workers {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// InOrder has workers take tasks in order, so that the one with the lowest is never behind another: it waits for
// nobody, and writers may wait for those before them.
func InOrder(ctx context.Context, workers, tasks int, do func(ctx context.Context, worker, task int) error) error {
	var claimed atomic.Int64
	return Each(ctx, workers, func(ctx context.Context, worker int) error {
		for i := int(claimed.Add(1)) - 1; i < tasks; i = int(claimed.Add(1)) - 1 {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := do(ctx, worker, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Copy gives all records of a source, which have size bytes, to w: by several workers at a time, blocks of blockRecords
// at most. When w fails it has been given all records before those, but no more are read.
func Copy(ctx context.Context, src Source, workers, blockRecords, size int, w BlockWriter) error {
	blockRecords = max(blockRecords, 1)
	return Each(ctx, workers, func(ctx context.Context, _ int) error {
		buffer := make([]byte, blockRecords*size)
		for ctx.Err() == nil {
			first, n, err := src.Next(blockRecords, func(int64, int) []byte { return buffer })
			if err != nil || n == 0 {
				return err
			}
			if err := w.WriteBlock(ctx, first, buffer[:n*size]); err != nil {
				return err
			}
		}
		return context.Cause(ctx)
	})
}
