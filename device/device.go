// Package device sorts one chunk of records at a time.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Device is a processor that can sort: the CPU (package cpu) or an OpenCL device (package
// opencl). It creates Chunks, which own the memory that records occupy while they are sorted. For
// a GPU, that is device memory, and the host keeps only a small ring of staging buffers. A chunk
// repeats three steps:
//
//	Load   reads records from a Source, with several readers at once
//	Sort   orders them
//	Store  writes the sorted records as blocks to a BlockWriter, with several writers at once
//
// Several chunks of one device may be in different steps at the same time. Every device and every
// algorithm produces the same bytes: the stable order of the layout's key. Package devicetest
// verifies this for each device.
package device

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
)

// A Source delivers the records of one chunk. Next is safe for concurrent use: every call claims
// the next records.
type Source interface {
	// Next claims the next n ≤ max records and reads them into the memory that place returns.
	// place must return n·RecordSize bytes for the records that start at index first, counted
	// from 0 in each Source. Next calls place at most once.
	//
	// A Source that does not know how many records will come asks for max records and may then
	// deliver fewer; the result n counts. n is 0 at the end of the source. Any block may be
	// short, and another Source of the same records may cut other blocks. Callers that need equal
	// blocks use FullBlocks.
	Next(max int, place func(first int64, n int) []byte) (first int64, n int, err error)

	// Records returns the number of records in the source, or -1 if it is unknown before the end.
	Records() int64
}

// A Sampled source may know the prefixes (Keyer.Prefix) of some of its records, in no particular
// order. If it knows any, they describe its records better than ChunkOptions.Sample, which
// describes all of the data. Callers must not modify the prefixes.
type Sampled interface {
	Source
	Sample() []uint64
}

// A BlockWriter receives a sorted stream in blocks. WriteBlock receives consecutive records of
// the stream; first is the index of the first one. The caller may reuse recs after the call
// returns.
//
// Several goroutines call WriteBlock, in any order, but a call may wait for the blocks before its
// own without a deadlock: callers begin the blocks in order of first, and the goroutine that has
// the lowest unwritten block never waits for another block.
type BlockWriter interface {
	WriteBlock(ctx context.Context, first int64, recs []byte) error
}

// A BlockWriterFunc is a function that serves as a BlockWriter.
type BlockWriterFunc func(ctx context.Context, first int64, recs []byte) error

// WriteBlock calls f.
func (f BlockWriterFunc) WriteBlock(
	ctx context.Context,
	first int64,
	recs []byte,
) error {
	return f(ctx, first, recs)
}

// Discard is a BlockWriter that ignores all blocks.
var Discard = BlockWriterFunc(func(context.Context, int64, []byte) error {
	return nil
})

// Info describes a device to users and to the planner. Rates are 0 until they are measured.
type Info struct {
	// Number in the list of all devices; the CPU is 0.
	Index  int    `json:"index"`
	Name   string `json:"name"`             // as the driver calls it
	Driver string `json:"driver,omitempty"` // API and driver version
	Kind   Kind   `json:"kind"`
	Units  int    `json:"units"` // processors or compute units
	// Memory for chunks, or 0 if chunks use host memory; see ChunkOptions.MemoryBytes.
	MemoryBytes int64 `json:"memory_bytes"`
	// The device uses host memory, so ChunkOptions.MemoryBytes includes it.
	UnifiedMemory bool `json:"unified_memory"`
	// Largest single allocation in bytes; 0: unlimited.
	MaxAlloc int64 `json:"-"`
	// Bytes per second between host and device, each way.
	LinkRate   float64  `json:"link_rate"`
	SortRate   float64  `json:"sort_rate"` // bytes per second, u64 keys
	Algorithms []string `json:"algorithms"`

	DriverName string `json:"-"` // Name of the Driver that lists the device
	Number     int    `json:"-"` // number in the list of that Driver, from 1
	Host       bool   `json:"-"` // the device is the host's CPU and sorts in host memory
	// Sorts may choose the device; if false, it is used only if the user names it.
	Automatic      bool `json:"-"`
	VariableDigits bool `json:"-"` // OpenOptions.DigitBits has an effect
}

// A Kind is a word that describes a device to users. Programs should use the properties in Info
// instead.
type Kind string

// The kinds that the existing drivers report. Other drivers may report others.
const (
	CPU         Kind = "cpu"
	GPU         Kind = "gpu"
	Accelerator Kind = "accelerator"
	// An OpenCL device that is the host's processor: used only when named.
	OpenCLCPU Kind = "opencl-cpu"
)

// ChunkOptions describes the chunks of one sort.
type ChunkOptions struct {
	Keyer       *format.Keyer
	Records     int64 // capacity in records, at most MaxRecords
	MemoryBytes int64 // limit for all host memory that the chunk uses
	// Maximum size of the blocks that Store writes; a block holds at least one record.
	BlockBytes int
	Workers    int    // goroutines in each step; 0: GOMAXPROCS
	Algorithm  string // one of Info.Algorithms; "": chosen by the device

	// SourceRecords is the number of records in the sources from which Select takes a part. 0
	// means that all records fit into the chunk. A wrong number costs time, but the result is
	// correct.
	SourceRecords int64

	// Sample contains prefixes (Keyer.Prefix) of some of the records to come, in no particular
	// order. It decides the boundaries of the buckets. A misleading sample costs time, but the
	// result is correct.
	Sample []uint64
}

// Capabilities describes how the chunks of a device process records of one layout.
type Capabilities struct {
	// Histogram means that the device counts keys and rebuilds the records from the counts, so a
	// chunk can hold any number of records.
	Histogram bool

	// WholeRecords means that records larger than an 8-byte key are moved together with their
	// keys, so that no step reads them from random places in memory.
	WholeRecords bool

	Selects bool // Chunk.Select works; if false, it returns errors.ErrUnsupported
	Retains bool // Chunk.Retain works if there is enough memory; if false, it returns nil

	// SelectSeconds is the time a worker needs to reject one record in Select, in addition to
	// reading it.
	SelectSeconds float64
}

// A Device sorts chunks. Its methods are safe for concurrent use.
type Device interface {
	Info() Info

	// Capabilities describes how opt.Algorithm processes the records of opt.Keyer.
	Capabilities(opt ChunkOptions) Capabilities

	// MaxRecords returns the largest number of records that a chunk can sort within memoryBytes
	// of host memory and within the device's own memory.
	MaxRecords(opt ChunkOptions, memoryBytes int64) int64

	// BlockBytes returns the maximum size of the blocks that Store writes for a chunk of this
	// many records. It is opt.BlockBytes, or less for a small chunk.
	BlockBytes(opt ChunkOptions, records int64) int

	// NewChunk creates a chunk. The chunk allocates its memory here or at first use and keeps it
	// until Close.
	NewChunk(ctx context.Context, opt ChunkOptions) (Chunk, error)

	Close() error
}

// A Chunk owns memory for the records of one chunk and sorts them. Only one step may run at a
// time.
type Chunk interface {
	// Load replaces the content with the records of src. It stops at the end of src or when the
	// chunk is full.
	Load(ctx context.Context, src Source) (records int64, err error)

	// Sort orders the records. A device may defer part of the work to Store, so that it overlaps
	// with writing.
	Sort(ctx context.Context) error

	// Store writes the first limit records of the sorted order to w, or all of them if limit < 0.
	// If drain is true, the chunk is empty afterwards, until the next Load. It can then free
	// memory while it writes, so that the pages of the output reuse memory that is already
	// mapped: faulting in fresh pages can cost more than the whole sort.
	Store(ctx context.Context, limit int64, drain bool, w BlockWriter) error

	// Select is Load restricted to the records of src whose prefix (Keyer.Prefix) is in [low,
	// high]. It serves sorts in several passes, which process the smallest keys first. If not all
	// of these records fit, Select also rejects the records with the largest prefixes. The loaded
	// records then have the prefixes in [low, last], where last < high.
	//
	// Select fails with ErrTooMany if it cannot reject enough records. If Capabilities.Selects is
	// false, it fails with errors.ErrUnsupported before it reads anything. REQUIRES: src knows
	// its number of records.
	Select(ctx context.Context, src Source, low, high uint64) (records int64, last uint64, err error)

	// Retain makes the first limit records of the sorted order, or all of them if limit < 0,
	// readable in place until the next Load or Close. A merge can then read the last chunk from
	// memory, so that it is not spilled. Retain follows Sort. It does nothing and returns nil if
	// the chunk would occupy more than memoryBytes of host memory, or if Capabilities.Retains is
	// false. Store may follow only if Retain returned nil.
	Retain(ctx context.Context, limit, memoryBytes int64) (*Retained, error)

	// Stats describes the work since the last Load.
	Stats() Stats

	// Close frees the memory.
	Close() error
}

// Plain provides the methods Select and Retain of a Chunk that supports neither. Such a Chunk
// embeds it.
type Plain struct{}

// Select returns errors.ErrUnsupported.
func (Plain) Select(
	context.Context,
	Source,
	uint64,
	uint64,
) (int64, uint64, error) {
	return 0, 0, errors.ErrUnsupported
}

// Retain returns nil.
func (Plain) Retain(context.Context, int64, int64) (*Retained, error) {
	return nil, nil
}

// ErrTooMany is the error of Select if it cannot reject enough records, for example because most
// have the same key.
var ErrTooMany = errors.New(
	"more records with nearly the same key than fit in a chunk",
)

// Retained provides access to the sorted records of a chunk after Retain.
type Retained struct {
	Blocks []RetainedBlock // in sorted order; each has at most ChunkOptions.BlockBytes
	Bytes  int64           // host memory that the chunk occupies while it keeps the records

	// Read returns the records of block i. It either copies them to dst, which must have room for
	// them, or returns a view of the chunk's memory. It is safe for concurrent use.
	Read func(i int, dst []byte) ([]byte, error)
}

// A RetainedBlock describes consecutive records of the sorted order.
type RetainedBlock struct {
	First   int64 // index of the first record in that order
	Records int
	Key     []byte // normalized key of the first record
}

// Stats describes how a chunk was sorted.
type Stats struct {
	Records   int64
	Algorithm string
	Passes    int // maximum number of radix passes over any key
}

// Each calls f for every worker, each in its own goroutine, and waits for all of them. An error
// cancels the context of the others.
func Each(
	ctx context.Context,
	workers int,
	f func(ctx context.Context, i int) error,
) error {
	group, ctx := safely.WithContext(ctx)
	for i := range workers {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// InOrder distributes tasks to workers in ascending order. The worker with the lowest unfinished
// task never waits for another worker, so a BlockWriter may block a worker until all previous
// blocks are written.
func InOrder(
	ctx context.Context,
	workers, tasks int,
	do func(ctx context.Context, worker, task int) error,
) error {
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

// Copy copies the records of src, of size bytes each, to w. Several workers do this at a time, in
// blocks of at most blockRecords. If w fails, it has received all records before the failed
// block, and Copy stops reading.
func Copy(
	ctx context.Context,
	src Source,
	workers, blockRecords, size int,
	w BlockWriter,
) error {
	blockRecords = max(blockRecords, 1)
	return Each(ctx, workers, func(ctx context.Context, _ int) error {
		buffer := make([]byte, blockRecords*size)
		for ctx.Err() == nil {
			first, n, err := src.Next(blockRecords, func(_ int64, n int) []byte {
				return buffer[:n*size]
			})
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
