package plan

import "github.com/extsort/extsort/format"

// maxTileRecords keeps a tile, with two buffers for its keys and references, in the second-level
// cache of a core.
const maxTileRecords = 32 << 10

// MergeTile returns how many records a worker merges at a time into output blocks of blockBytes.
func MergeTile(k *format.Keyer, blockBytes int) int {
	return min(maxTileRecords, max(blockBytes/k.Layout().RecordSize, 64))
}

// MergeWorker returns the memory of one worker: a block of output, and two buffers for the keys of
// a tile. If a record is more than a key of one word, the buffers also have references to the
// records.
func MergeWorker(k *format.Keyer, blockBytes int) int64 {
	words := 2
	if !k.Layout().IsBare() || k.KeySize() > 8 {
		words = 4
	}
	return int64(blockBytes) + 8*int64(words*MergeTile(k, blockBytes))
}

// MergeBuffer returns the memory of a block: the keys and, unless a record is nothing but its key,
// the records.
func MergeBuffer(k *format.Keyer, records int) int64 {
	words := int64(records)
	if !k.Identity() || k.KeySize() != 8 {
		words += (int64(records)*int64(k.Layout().RecordSize) + 7) / 8
	}
	return 8 * words
}

// MergeSpan returns how many blocks begin in a span. Each block has blockRecords records. A span
// fills about one block of output, so that the writers take turns, in order. It also has enough
// records that finding its cut in each run costs little in comparison.
func MergeSpan(k *format.Keyer, blockBytes, blockRecords, fanIn int) int {
	blockRecords = max(blockRecords, 1)
	outputBlock := blockBytes / k.Layout().RecordSize / blockRecords
	forCuts := 32 * fanIn / blockRecords
	return max(1, outputBlock, forCuts)
}

// mergeMemory returns the memory that a merge of fanIn runs needs to keep all workers busy. The
// blocks of the runs and of the output have blockBytes.
func mergeMemory(k *format.Keyer, blockBytes, workers, fanIn int) int64 {
	blockRecords := max(blockBytes/k.Layout().RecordSize, 1)
	spanBlocks := MergeSpan(k, blockBytes, blockRecords, fanIn)
	buffers := fanIn + 2*spanBlocks*(workers+1)
	bufferBytes := int64(buffers) * MergeBuffer(k, blockRecords)
	workerBytes := int64(workers) * MergeWorker(k, blockBytes)
	return workerBytes + bufferBytes
}

// leastMerge returns the least memory for a merge of two runs with blocks of blockBytes.
func leastMerge(k *format.Keyer, blockBytes int) int64 {
	blockRecords := blockBytes / k.Layout().RecordSize
	buffer := max(MergeBuffer(k, blockRecords), 8)
	return MergeWorker(k, blockBytes) + 3*buffer
}

// MaxFanIn returns how many runs the workers can merge at once within memoryBytes. The blocks of
// the runs and of the output have blockBytes. A result below 2 means that the memory is too small
// for such blocks.
func MaxFanIn(k *format.Keyer, blockBytes, workers int, memoryBytes int64) int {
	blockRecords := max(blockBytes/k.Layout().RecordSize, 1)
	left := memoryBytes - int64(workers)*MergeWorker(k, blockBytes)
	buffers := left / MergeBuffer(k, blockRecords)
	return int(max(buffers-int64(workers)-1, 0))
}

// MergeGroup returns how many runs the first merge takes if there are more than fanIn. It takes
// just enough of them that all later merges, including the last, have the full fan-in (Knuth, The
// Art of Computer Programming, volume 3, section 5.4.9).
func MergeGroup(runs, fanIn int) int {
	if size := 1 + (runs-1)%(fanIn-1); size > 1 {
		return size
	}
	return fanIn
}
