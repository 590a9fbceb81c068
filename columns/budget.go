package columns

import (
	"fmt"
	"math"
	"runtime/debug"

	"github.com/extsort/extsort"
)

// A budget divides the memory limit. Decoding and encoding never overlap: the first sorted record
// is known only when all rows have been read.
type budget struct {
	engine  int64 // for extsort.Sort
	columns int64 // for decoding and, later, for encoding
	workers int

	limit int64 // all memory except for that of the program itself
	sets  bool  // decoding and encoding overlap
}

// MinMemory is the smallest memory limit, in bytes.
const MinMemory = 64 << 20

// maxColumns bounds the memory for decoding and encoding, which needs no more.
const maxColumns = 1 << 30

// Memory of the program itself.
const (
	codeBytes    = 12 << 20 // pages of its file, which Go's limit does not count
	runtimeBytes = 12 << 20
)

// newBudget divides a limit; 0 is half of the machine's memory.
func newBudget(limit int64, workers int) (m budget, err error) {
	if limit == 0 {
		if limit, err = extsort.ParseMemory("50%"); err != nil {
			return m, err
		}
	}
	if limit < MinMemory {
		return m, fmt.Errorf("a memory limit of %d bytes is too small: Parquet files need 64 MiB", limit)
	}
	m.workers = workers
	limit -= codeBytes + runtimeBytes
	m.limit = limit
	m.columns = min(limit*2/5, maxColumns)
	m.engine = limit - m.columns
	// The records of the engine are outside of Go's heap, so that its limit is that of the columns.
	debug.SetMemoryLimit(m.columns + runtimeBytes)
	return m, nil
}

// Memory to decode or encode a column at the same time as all others: of its reader, pages and values.
const (
	fixedColumnBytes    = 48 << 10
	variableColumnBytes = 160 << 10
)

// columnBytes returns the memory to decode or encode all columns at the same time.
func (l *layout) columnBytes() int64 {
	variable := int64(len(l.variable))
	return (int64(len(l.columns))-variable)*fixedColumnBytes + variable*variableColumnBytes
}

// checkColumns returns an error if the memory is not enough for the columns of all layouts. All are decoded or encoded
// at the same time.
func (m budget) checkColumns(all ...*layout) error {
	need := int64(0)
	columns := 0
	for _, l := range all {
		need += l.columnBytes()
		columns = max(columns, len(l.columns))
	}
	need = need * 5 / 4 // and a part of the engine's memory
	if m.sets {
		need += setBytes - sharedBytes
	}
	if need <= m.limit {
		return nil
	}
	const mib = 1 << 20
	least := need + codeBytes + runtimeBytes
	return fmt.Errorf("%d columns need a memory limit of %d MiB: increase it", columns, (least+mib-1)/mib)
}

const (
	setBytes    = 24 << 20 // for the engine of a set operation
	sharedBytes = 8 << 20  // the part of them that columns can use
)

// forSets returns the division for set operations, which merge streams and hold few records.
func (m budget) forSets() budget {
	m.sets = true
	m.columns = min(m.limit-setBytes, maxColumns)
	m.engine = setBytes
	debug.SetMemoryLimit(m.columns + runtimeBytes)
	return m
}

// Sizes of blocks of records: they fit the cache of a core.
const (
	cacheBytes   = 512 << 10
	minBlockRows = 256
	maxBlockRows = 16384
)

func blockRows(recordSize int) int {
	return max(minBlockRows, min(maxBlockRows, cacheBytes/recordSize))
}

// typicalPage is the usual size of a decompressed page.
const typicalPage = 1 << 20

// source returns the sizes of a source. Half of the memory is for pages and half for blocks.
func (m budget) source(inputs []input, l *layout) sourceSizes {
	perWorker := int64(1)
	for _, in := range inputs {
		perWorker = max(perWorker, in.groupBytes())
	}
	rows := blockRows(l.recordSize)
	blockBytes := int64(rows * l.recordSize)
	perWorker += 2 * int64(rows*(l.recordSize+l.savedBytes)) // decoded values and levels of a block
	workers := int(max(1, min(int64(m.workers), m.columns/3/perWorker)))
	return sourceSizes{
		workers:    workers,
		blockRows:  rows,
		blockBytes: int(blockBytes),
		blocks:     int(max(1, m.columns/3/blockBytes)),
	}
}

// sink returns the sizes of a sink. Half of the memory is for the encoded pages of a row group, a
// quarter for blocks.
func (m budget) sink(l *layout, isArrow bool) sinkSizes {
	const (
		maxGroupRows = 1 << 20
		maxBatchRows = 1 << 16
		blocks       = 4
	)
	rows := max(1, min(1<<16, int(m.columns/4/blocks)/l.recordSize))
	sizes := sinkSizes{
		workers:    m.workers,
		blockBytes: rows * l.recordSize,
		blocks:     blocks,
		groupRows:  max(1, min(maxGroupRows, int(m.columns/2)/(l.recordSize+l.savedBytes))),
		groupBytes: math.MaxInt,
	}
	if len(l.variable) > 0 {
		sizes.groupRows = maxGroupRows
		sizes.groupBytes = int(m.columns / 2)
	}
	if isArrow {
		sizes.groupRows = min(sizes.groupRows, maxBatchRows)
		sizes.groupBytes = min(sizes.groupBytes, int(m.columns/4))
	}
	sizes.blockRows = min(rows, sizes.groupRows)
	return sizes
}

// tiedBytes returns the most memory for rows whose keys are equal as far as the sort knows them.
func (m budget) tiedBytes() int { return int(m.columns / 8) }

// pageBytes returns the size of the output's pages before compression. Small pages stay in the cache of a core
// from encoding to compression.
func (m budget) pageBytes(l *layout) int64 { return min(outputPage, m.dictionaryBytes(l)) }

const outputPage = 128 << 10

// dictionaryBytes returns the most bytes of a dictionary in the output.
func (m budget) dictionaryBytes(l *layout) int64 {
	return max(16<<10, min(typicalPage, m.columns/8/int64(len(l.columns))))
}
