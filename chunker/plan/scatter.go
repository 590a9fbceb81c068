package plan

// A Scatter says how a pass that sends records to parts divides its work and its memory.
type Scatter struct {
	Workers    int
	Sections   int // number of sections of the input, at least Workers; idle workers take the next
	BlockBytes int // size of a buffer; every worker has one for each part
	UnitBytes  int // bytes that a worker reads at once

	CombinerBytes int // memory of a worker for combining equal keys; 0: they are not combined
}

// CombinedRecords and CombinedBytes are the maximum number and size of the records among which a
// worker of a Scatter combines equal keys.
const (
	CombinedRecords = 4096
	CombinedBytes   = 128 << 10
)

// combinerBytes is the memory for combining records: their copies, and 20 bytes for each.
const combinerBytes = CombinedBytes + 20*CombinedRecords

// CombinesKeys reports whether it pays to combine records with equal keys in the buffers for a
// number of parts, before they are spilled. keys is a sorted sample of the records.
func (s *Scatter) CombinesKeys(f *Facts, keys []uint64, parts int) bool {
	if s.CombinerBytes == 0 || 2*f.recordSize() > CombinedBytes {
		return false
	}
	return s.distinctShare(f, keys, parts) <= combineBelow
}

// distinctShare estimates which fraction of the records is left after equal keys are combined in
// the buffers for a number of parts. keys is a sorted sample of the records.
func (s *Scatter) distinctShare(f *Facts, keys []uint64, parts int) float64 {
	records := min(s.BlockBytes/f.recordSize(), CombinedRecords, CombinedBytes/f.recordSize())
	return distinctShare(keys, float64(parts)*float64(records))
}

// combineBelow is the share of distinct keys up to which it pays to combine records.
const combineBelow = 0.75

// MaxUnitBytes is the maximum size of the unit that a worker reads at once. A unit stays in the
// second-level cache, together with its keys (8 bytes per record) and the part number of each
// record. Units of short records are smaller.
const MaxUnitBytes = 256 << 10

// MaxLines is the maximum number of parts for which lines are useful. More lines would leave too
// little of the second-level cache for the unit and its keys.
const MaxLines = 2048

// Memory returns the bytes that the pass allocates for its parts, without the index of their
// blocks.
func (s *Scatter) Memory(parts int) int64 {
	unit := int64(s.UnitBytes) * 5 / 2 // with the keys and part numbers of its records
	perWorker := s.BufferBytes(parts) + unit + int64(s.CombinerBytes)
	return int64(s.Workers) * perWorker
}

// BufferBytes returns the memory of one worker's buffers for the parts.
func (s *Scatter) BufferBytes(parts int) int64 {
	return int64(parts)*int64(s.BlockBytes) + lineBytes(min(parts, MaxLines))
}

// Blocks returns the maximum number of blocks that the pass appends: the full blocks, and a short
// one for each part at the end of each section. Frequent keys get parts of their own, at most one
// for every two other parts.
func (s *Scatter) Blocks(bytes int64, parts int) int64 {
	ends := int64(parts+parts/2) * int64(max(s.Sections, s.Workers))
	return max(bytes, 0)/int64(s.BlockBytes) + ends
}

// lineBytes returns the memory of the parts' lines, including two words of state for each line. A
// test of package chunker compares it with the memory of radix.Appender.
func lineBytes(parts int) int64 {
	const line, cacheLines = 256, 128
	return int64(parts*line + 2*roundUp(8*parts, cacheLines))
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// movesWords reports whether records of a size are moved to their parts as words, which is faster.
func movesWords(recordSize int) bool { return recordSize == 4 || recordSize == 8 || recordSize == 16 }
