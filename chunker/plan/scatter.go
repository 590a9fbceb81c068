package plan

// Scatter says how a pass that sends records to parts divides its work and its memory.
type Scatter struct {
	Workers    int
	Sections   int // of the input, that the workers take one after another; not fewer than they are
	BlockBytes int // of the buffer of a part, of which every worker has one for each
	UnitBytes  int // that a worker reads at once
}

// MaxUnitBytes is what a worker reads at once where memory is not short: it stays in the second-level cache
// with its keys, which take 8 bytes for each record, and its parts. Of shorter records it reads less.
const MaxUnitBytes = 256 << 10

// MaxLines is the number of parts whose lines leave the second-level cache to the unit and its keys.
const MaxLines = 2048

// Memory is the memory in bytes that the pass allocates for its parts, without the index of their blocks.
func (s *Scatter) Memory(parts int) int64 {
	return int64(s.Workers) * (s.BufferBytes(parts) + int64(s.UnitBytes)*5/2)
}

// BufferBytes is the memory of one worker's buffers for the parts.
func (s *Scatter) BufferBytes(parts int) int64 {
	return int64(parts)*int64(s.BlockBytes) + lineBytes(min(parts, MaxLines))
}

// Blocks returns the most blocks that the pass appends: the full ones, and a short one at the end of each
// section of each part. frequent keys get parts of their own, up to half as many again.
func (s *Scatter) Blocks(bytes int64, parts int) int64 {
	ends := int64(parts+parts/2) * int64(max(s.Sections, s.Workers))
	return max(bytes, 0)/int64(s.BlockBytes) + ends
}

// lineBytes is what a line of each part takes, with the two words that tell where it goes. A test of package
// chunker holds it against the memory of radix.Appender.
func lineBytes(parts int) int64 {
	const line, cacheLines = 256, 128
	return int64(parts*line + 2*roundUp(8*parts, cacheLines))
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// movesWords reports whether records of that size are moved to their parts as words, which is faster.
func movesWords(recordSize int) bool { return recordSize == 4 || recordSize == 8 || recordSize == 16 }
