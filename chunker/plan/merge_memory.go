package plan

import "github.com/extsort/extsort/format"

// maxTileRecords keeps a tile, with two buffers for its keys and references, in the second-level cache of a
// core.
const maxTileRecords = 32 << 10

// MergeTile is how many records a worker merges at a time, with blocks of output of blockBytes.
func MergeTile(k *format.Keyer, blockBytes int) int {
	return min(maxTileRecords, max(blockBytes/k.Layout().RecordSize, 64))
}

// MergeWorker is the memory of one worker: a block of output, and two buffers for the keys of a tile, with
// references to the records where those are more than a key of one word.
func MergeWorker(k *format.Keyer, blockBytes int) int64 {
	words := 2
	if !k.Layout().IsBare() || k.KeySize() > 8 {
		words = 4
	}
	return int64(blockBytes) + 8*int64(words*MergeTile(k, blockBytes))
}

// MergeBuffer is the memory of a block of records: their keys and, unless those are the records, the records.
func MergeBuffer(k *format.Keyer, records int) int64 {
	words := int64(records)
	if !k.Identity() || k.KeySize() != 8 {
		words += (int64(records)*int64(k.Layout().RecordSize) + 7) / 8
	}
	return 8 * words
}

// MergeSpan is how many blocks of blockRecords begin in a span: about as many as fill one block of output, so
// that writers in order alternate, but with enough records that finding the cut in each run does not show.
func MergeSpan(k *format.Keyer, blockBytes, blockRecords, fanIn int) int {
	blockRecords = max(blockRecords, 1)
	return max(1, blockBytes/k.Layout().RecordSize/blockRecords, 32*fanIn/blockRecords)
}

// mergeMemory is the memory with which a merge of fanIn runs with blocks of blockBytes, and output blocks of
// the same size, keeps that many workers busy.
func mergeMemory(k *format.Keyer, blockBytes, workers, fanIn int) int64 {
	records := max(blockBytes/k.Layout().RecordSize, 1)
	buffers := fanIn + 2*MergeSpan(k, blockBytes, records, fanIn)*(workers+1)
	return int64(workers)*MergeWorker(k, blockBytes) + int64(buffers)*MergeBuffer(k, records)
}

// leastMerge is the least memory with which two runs with blocks of blockBytes can be merged.
func leastMerge(k *format.Keyer, blockBytes int) int64 {
	return MergeWorker(k, blockBytes) + 3*max(MergeBuffer(k, blockBytes/k.Layout().RecordSize), 8)
}

// MaxFanIn is how many runs with blocks of blockBytes can be merged at once by that many workers, with output
// blocks of the same size, within memoryBytes. Below 2 memory is too small for such blocks.
func MaxFanIn(k *format.Keyer, blockBytes, workers int, memoryBytes int64) int {
	left := memoryBytes - int64(workers)*MergeWorker(k, blockBytes)
	records := max(blockBytes/k.Layout().RecordSize, 1)
	return int(max(left/MergeBuffer(k, records)-int64(workers)-1, 0))
}

// MergeGroup is how many of more than fanIn runs are merged first: just enough that all later merges, the last
// one included, have the full fan-in (Knuth, The Art of Computer Programming, volume 3, section 5.4.9).
func MergeGroup(runs, fanIn int) int {
	if size := 1 + (runs-1)%(fanIn-1); size > 1 {
		return size
	}
	return fanIn
}
