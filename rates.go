package extsort

import (
	"math"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/merge"
)

// rates are what the planner knows of a machine. Times are those of one worker; costs of workers that share a
// resource are divided by their number.
type rates struct {
	readBytes    float64 // bytes/s that one worker reads from the page cache
	writeBytes   float64 // bytes/s that one worker writes to new pages of the page cache
	spillBytes   float64 // bytes/s that one worker spills or reads back
	copyBytes    float64 // bytes/s that one worker gathers wide records from random places
	keySeconds   float64 // to sort one key in memory, partition and buckets together
	gatherCost   float64 // seconds to fetch one record from a random place, besides its bytes
	scatterCost  float64 // seconds to classify one record and to append it to its part, as words
	mergeCost    float64 // seconds for one bare key of up to 8 bytes and one level of two-way merges
	referCost    float64 // the same for a key with a reference to its record
	startSeconds float64 // of the run as a whole
	measured     bool    // on this machine, for this run
}

// defaultRates were measured on a 2-core EPYC (Zen 5) with the data in the page cache; other machines differ, but
// the choice between strategies depends on their ratios.
var defaultRates = rates{
	readBytes:    12e9,
	writeBytes:   2.0e9,
	spillBytes:   spillRatio * 2.0e9,
	copyBytes:    20e9,
	keySeconds:   5.2e-9,
	gatherCost:   17e-9,
	scatterCost:  1.4e-9,
	mergeCost:    defaultMergeCost(),
	referCost:    4e-9,
	startSeconds: 1e-3,
}

func defaultMergeCost() float64 {
	if merge.InVectors() {
		return 1.1e-9
	}
	return 1.8e-9
}

// spillRatio is how much faster spill is written and read back than output is written: nobody waits until it is on the
// disk, and it lies in memory that was just given back.
const spillRatio = 2.25

// Rates are what a plan is based on, of one worker.
type Rates struct {
	Measured           bool    `json:"measured"` // on this machine just now; else those of another
	ReadBytes          float64 `json:"read_bytes_per_second"`
	WriteBytes         float64 `json:"write_bytes_per_second"`
	CopyBytes          float64 `json:"copy_bytes_per_second"`
	SortNanoseconds    float64 `json:"sort_ns_per_key"`
	GatherNanoseconds  float64 `json:"gather_ns_per_record"`
	ScatterNanoseconds float64 `json:"scatter_ns_per_record"`
	MergeNanoseconds   float64 `json:"merge_ns_per_key_and_level"`
}

func (r rates) shown() Rates {
	return Rates{
		Measured: r.measured, ReadBytes: r.readBytes, WriteBytes: r.writeBytes, CopyBytes: r.copyBytes,
		SortNanoseconds: 1e9 * r.keySeconds, GatherNanoseconds: 1e9 * r.gatherCost,
		ScatterNanoseconds: 1e9 * r.scatterCost, MergeNanoseconds: 1e9 * r.mergeCost,
	}
}

// work is what is to be sorted, as the cost model sees it.
type work struct {
	records       float64
	size          float64 // bytes of a record
	bare          bool    // the record is its key: nothing to gather
	moved         bool    // the CPU moves records whole: nothing to gather either, but in cache
	counted       bool    // the CPU only counts records: nothing to move, and no memory to touch
	selectSeconds float64 // that the CPU needs to leave a record out, once it is read
	trends        bool    // keys rise or fall with the position
	reclaimed     bool    // the host of a virtual machine takes back what memory is free
	workers       float64
	gpus          *gpuRates // all that sort at once; nil: the CPU sorts
}

// gpuRates are what GPUs do together.
type gpuRates struct {
	count     float64
	linkBytes float64 // bytes/s between host and devices, each way
	sortBytes float64 // bytes/s
}

// atMost is the same work with no more than so many records; 0: with all.
func (w work) atMost(records int64) work {
	if records > 0 {
		w.records = min(w.records, float64(records))
	}
	return w
}

// onOneGPU is the same work where all GPUs but one are idle.
func (w work) onOneGPU() work {
	if w.gpus != nil {
		w.gpus = &gpuRates{1, w.gpus.linkBytes / w.gpus.count, w.gpus.sortBytes / w.gpus.count}
	}
	return w
}

func (w work) bytes() float64 { return w.records * w.size }

// readCost is reading all records once.
func (w work) readCost(r rates) float64 { return w.bytes() / r.readBytes / w.workers }

// sortCost is sorting all records in chunks, but for reading and writing. A GPU's transfers go on beside those, and
// cost what they take longer.
func (w work) sortCost(r rates) float64 {
	if g := w.gpus; g != nil {
		link := w.bytes() / g.linkBytes
		return w.bytes()/g.sortBytes + max(link-w.readCost(r), 0) + max(link-w.writeCost(r), 0)
	}
	perRecord := r.keySeconds
	switch {
	case w.counted:
		perRecord = countedSeconds
	case w.moved:
		perRecord += movedSeconds + movedCopies*w.size/r.copyBytes
	case !w.bare:
		perRecord += r.gatherCost + w.size/r.copyBytes
	}
	return w.records * perRecord / w.sorters()
}

// hostTouchSeconds is what a byte of memory takes to be touched for the first time where a host takes back what is free, as far as can
// be known before: what is still there takes 0.05 to 0.3 ns, the rest up to 2.7.
const hostTouchSeconds = 0.6e-9

// touchCost is touching the memory that all records take, where that takes more than it did when sorting was timed. Of wider records,
// most stay in the page cache.
func (w work) touchCost() float64 {
	if !w.reclaimed || w.gpus != nil || w.counted || !w.bare && !w.moved {
		return 0
	}
	return w.bytes() * hostTouchSeconds / w.workers
}

// A record that is moved whole takes longer than a bare key of 8 bytes, by the reference that is sorted in its place, and by
// its bytes, which are copied several times: records of 8 bytes took 10.4 ns, of 12 bytes 15, of 16 bytes 14.
const (
	movedSeconds = 2e-9
	movedCopies  = 8
)

// countedSeconds is what a record that is only counted takes, and to write it anew: of 1 and 2 bytes they took 0.3 and 0.5 ns.
const countedSeconds = 0.4e-9

// Where keys rise or fall with the position, those of a chunk take trendingChunk times as long to sort: neighbours come to the
// same bucket, and in it to the same place, each behind the other. Those of the parts of a partition take trendingPart times as
// long: several workers have filled each part, in some order, and hardly any of its records comes from far away. 256 MiB of
// nearly sorted u64 and of random ones, in 64 and in 128 MiB: runs were sorted in 0.32 and 0.23 s on an Intel Xeon (Emerald
// Rapids) and in 0.20 and 0.165 s on an AMD EPYC (Zen 5), parts in 0.24 and 0.26 s and in 0.166 and 0.203 s.
const (
	trendingChunk = 1.4
	trendingPart  = 0.7
)

// chunkCost is sortCost for chunks that are cut by position, partCost for parts of a partition.
func (w work) chunkCost(r rates) float64 { return w.sortCost(w.trending(r, trendingChunk)) }

func (w work) partCost(r rates) float64 { return w.sortCost(w.trending(r, trendingPart)) }

// trending is the rates for keys that trend. Of 4 bytes, or with a reference, they showed no such difference.
func (w work) trending(r rates, factor float64) rates {
	if w.trends && w.bare && w.size == 8 {
		r.keySeconds *= factor
	}
	return r
}

// sorters is how many times as fast as one all workers sort. They share the memory: what one did with 2^20 keys in 9.1 ns
// a key, 16 did with 2^29 in 1.2 ns.
func (w work) sorters() float64 { return math.Pow(w.workers, 0.8) }

// writeCost is writing the output.
func (w work) writeCost(r rates) float64 { return w.bytes() / r.writeBytes / w.writers() }

// spillCost is spilling all records, or reading them back. Spill is written while others sort, and read while others merge: 1 GiB of
// u64 merged in a quarter of it took 16 workers 0.57 s, where this expects 0.47, and with four that spill at a time 0.36.
func (w work) spillCost(r rates) float64 { return w.bytes() / r.spillBytes / min(w.workers, 2) }

// writers is how many workers write to files at the same time to any gain: more than a few wait for each other.
func (w work) writers() float64 { return min(w.workers, 4) }

// scatterCost is sending all records to their parts, by way of a buffer.
func (w work) scatterCost(r rates) float64 {
	perRecord := r.scatterCost + scatterCopies*w.size/r.copyBytes
	if !plan.MovesWords(int(w.size)) {
		perRecord += scatterPlainSeconds
	}
	return w.records * perRecord / w.workers
}

// A record takes as much as some copies of it to get to its part, and more if it is not moved as a word: on the machine of
// defaultRates u32 took 2.0 ns, u64 2.7, records of 12, 16, 24 and 100 bytes 8, 4.8, 8.8 and 24 (BenchmarkScatter).
const (
	scatterCopies       = 3
	scatterPlainSeconds = 4.5e-9
)

const (
	// blockSeconds is what each block takes that is read back, besides its bytes: to find whose turn it is, to ask for it,
	// to check it. cutSeconds is what it takes more for each run that is merged: where the block ends, all are cut. 256 MiB of u64
	// in 51 runs of blocks of 64 KiB were merged in 0.6 s by two workers, in 31 runs of 128 KiB in 0.26, in 10 of 512 KiB in 0.13.
	blockSeconds = 30e-6
	cutSeconds   = 2e-6

	partSeconds = 0.5e-3 // what each part takes besides its records: some of it nothing else can overlap with
)

// blockCost is what it takes to read back spill because it comes in blocks, of so many runs that are merged.
func (w work) blockCost(blockBytes, runs int) float64 {
	if blockBytes == 0 {
		return 0
	}
	return w.bytes() / float64(blockBytes) * (blockSeconds + float64(runs)*cutSeconds) / w.workers
}

// mergeCost is one merge of k runs.
func (w work) mergeCost(r rates, k int) float64 {
	levels := math.Log2(float64(max(k, 2)))
	perRecord := levels * r.mergeCost
	if !w.bare {
		perRecord = levels*r.referCost + referenceSeconds + w.size/r.copyBytes
	}
	return w.records * perRecord / w.workers
}

// referenceSeconds is what a record takes in a merge that moves a reference with its key, to make it and to follow it. 256 MiB of
// records of 16 bytes took 8.7 ns a record more than as many bytes of u64 with 2 runs, and 14 ns with 5.
const referenceSeconds = 5e-9

// spillAndMerge is what it costs beside sorting that the records do not fit memoryBytes; nothing if they do.
func (w work) spillAndMerge(r rates, memoryBytes float64) float64 {
	if w.bytes() <= memoryBytes {
		return 0
	}
	return 2*w.spillCost(r) + w.mergeCost(r, int(w.bytes()/memoryBytes)+1)
}

// digitBits is the width h of the radix digit that moves the fewest bytes for keys of k bits in tiles of T
// elements of s bytes: the minimum of ⌈k/h⌉·[s + s·(1 + 32·2^h/(T·s)) + 12·2^h/T] per element (Koppelman's
// analysis of Satish, Harris and Garland 2009).
func digitBits(keyBits int, tile, elementBytes float64) int {
	best, bestCost := 1, math.Inf(1)
	for h := 1; h <= 16; h++ {
		passes := math.Ceil(float64(keyBits) / float64(h))
		bins := math.Exp2(float64(h))
		cost := passes * (elementBytes + elementBytes*(1+32*bins/(tile*elementBytes)) + 12*bins/tile)
		if cost < bestCost {
			best, bestCost = h, cost
		}
	}
	return best
}
