package extsort

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

const (
	// calibrateBytes is the least input for which measuring the machine pays: it takes 0.1 to 0.2 s on one processor, in
	// which a twentieth of this is sorted. calibrateGPUBytes is that where a GPU may be worth its start.
	calibrateBytes    = 4 << 30
	calibrateGPUBytes = 1 << 30

	calibrateMemory = 48 << 20 // the least limit under which it is done: the trials take 30 MiB

	trialKeys  = 1 << 20  // sorted, merged and scattered: more than the caches hold, done in a few milliseconds
	trialRuns  = 16       // that are merged
	trialPairs = 1 << 18  // records of a key and a payload that are merged
	pairBytes  = 16       // of each of those
	trialWrite = 16 << 20 // bytes written to the temporary folder
	trialReads = 8        // blocks read from places all over the input

	trialSample = 1 << 12 // keys that tell how to cut
	trialParts  = 32
)

// measuredRates measures what the planner needs to know of this machine and of the input's disk. What cannot be
// measured keeps its default.
func (j *job) measuredRates(ctx context.Context) rates {
	defer debug.FreeOSMemory() // what the trials took is not in the budget of what follows
	r := defaultRates
	r.measured = true
	if read, ok := j.readTrial(); ok {
		r.readBytes = read
	}
	if seconds, ok := timeWrite(j.opt.TempDirs[0]); ok {
		r.writeBytes = trialWrite / seconds
		r.spillBytes = spillRatio * r.writeBytes
	}
	keyer, err := format.NewKeyer(format.Bare(format.Type{Kind: format.Unsigned, Size: 8}))
	if err != nil {
		return r
	}
	recs := trialRecords(keyer, "uniform", trialKeys, 1)
	if recs == nil {
		return r
	}
	if seconds, ok := timeSort(ctx, keyer, recs); ok {
		r.keySeconds = seconds / trialKeys
	}
	r.copyBytes, r.gatherCost = timeGather(recs)
	const levels = 4 // log2 of trialRuns
	if seconds, ok := timeMerge(ctx, keyer, trialKeys); ok {
		r.mergeCost = seconds / trialKeys / levels
	}
	pairs, err := format.NewKeyer(format.Layout{RecordSize: pairBytes, Key: keyer.Layout().Key})
	if err != nil {
		return r
	}
	if seconds, ok := timeMerge(ctx, pairs, trialPairs); ok {
		r.referCost = max(seconds/trialPairs-referenceSeconds-pairBytes/r.copyBytes, 0) / levels
	}
	if seconds, ok := timeScatter(ctx, keyer, recs, j.opt.TempDirs[0]); ok {
		r.scatterCost = max(seconds/trialKeys-8*scatterCopies/r.copyBytes, 0)
	}
	return r
}

// timeReads reads blocks from all over the input, which shows whether it is in the page cache, and gives the bytes of a second. The
// slowest counts as the others do on average: somebody else may have stopped it.
func (j *job) timeReads() (bytesPerSecond float64, ok bool) {
	if j.opt.faults.readBytes > 0 {
		return j.opt.faults.readBytes, true
	}
	block := make([]byte, maxBlockBytes/j.size*j.size)
	clear(block) // so that it is not touched for the first time by the reading
	seconds, slowest := 0.0, 0.0
	sources := chunker.NewDataset(j.inputs).Split(trialReads)
	for _, src := range sources {
		start := time.Now()
		if _, n, err := src.Next(len(block)/j.size, func(int64, int) []byte { return block }); err != nil || n == 0 {
			return 0, false
		}
		one := since(start)
		seconds, slowest = seconds+one, max(slowest, one)
	}
	if n := float64(len(sources)); n > 1 {
		seconds = (seconds - slowest) * n / (n - 1)
	}
	return trialReads * maxBlockBytes / seconds, true
}

// timeWrite writes to an unlinked file, as spill and output are written.
func timeWrite(folder string) (seconds float64, ok bool) {
	file, err := (spill.Disk{}).Create(folder)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	block := make([]byte, maxBlockBytes)
	start := time.Now()
	for at := int64(0); at < trialWrite; at += int64(len(block)) {
		if _, err := file.WriteAt(block, at); err != nil {
			return 0, false
		}
	}
	return since(start), true
}

func trialRecords(k *format.Keyer, dist string, n int64, seed uint64) []byte {
	g, err := format.NewGenerator(k.Layout(), dist, seed, n)
	if err != nil {
		return nil
	}
	recs := make([]byte, n*int64(k.Layout().RecordSize))
	g.Fill(recs, 0)
	return recs
}

// timeSort sorts with one worker.
func timeSort(ctx context.Context, k *format.Keyer, recs []byte) (seconds float64, ok bool) {
	chunk, err := cpu.New().NewChunk(ctx, device.ChunkOptions{
		Keyer: k, Records: trialKeys, BlockBytes: maxBlockBytes, Workers: 1,
	})
	if err != nil {
		return 0, false
	}
	defer chunk.Close()
	for range 2 { // the first time touches the memory
		start := time.Now()
		if _, err = chunk.Load(ctx, input.ReaderSource(bytes.NewReader(recs), 0, trialKeys, 8)); err == nil {
			if err = chunk.Sort(ctx); err == nil {
				err = chunk.Store(ctx, -1, nothing)
			}
		}
		seconds = since(start)
	}
	return seconds, err == nil
}

// timeMerge merges runs of n records in memory with one worker.
func timeMerge(ctx context.Context, k *format.Keyer, n int64) (seconds float64, ok bool) {
	runs := make([]*spill.Run, trialRuns)
	for i := range runs {
		recs := trialRecords(k, "sorted", n/trialRuns, uint64(i))
		if recs == nil {
			return 0, false
		}
		runs[i] = spill.MemoryRun(k, recs, 1<<13)
	}
	opt := merge.Options{Keyer: k, Workers: 1, BlockBytes: maxBlockBytes, Limit: -1}
	var err error
	for range 2 {
		start := time.Now()
		_, err = merge.Merge(ctx, opt, runs, nothing)
		seconds = since(start)
	}
	return seconds, err == nil
}

// timeScatter sends records in memory to parts that are not kept, with one worker.
func timeScatter(ctx context.Context, k *format.Keyer, recs []byte, folder string) (seconds float64, ok bool) {
	keys := make([]uint64, trialSample)
	k.Prefixes(keys, recs[:8*trialSample])
	slices.Sort(keys)
	classifier := chunker.NewClassifier(keys, trialParts)
	store, err := spill.New(spill.Options{
		Store: spill.Oblivion{}, Folders: []string{folder}, Codec: "none", Keyer: k, ExpectBytes: -1, BlockBytes: cpuReadBytes,
	})
	if err != nil {
		return 0, false
	}
	defer store.Close()
	data := &chunker.Part{Run: spill.MemoryRun(k, recs, cpuReadBytes/8)}
	for range 2 {
		start := time.Now()
		_, err = chunker.Scatter(ctx, k, data, classifier, store, plan.Scatter{Workers: 1, BlockBytes: cpuReadBytes})
		seconds = since(start)
	}
	return seconds, err == nil
}

// timeGather copies 64-byte records from random places: bytes per second of a plain copy, and the seconds that a
// random place adds to each record.
func timeGather(recs []byte) (copyBytes, gatherSeconds float64) {
	dst := make([]byte, len(recs))
	copy(dst, recs)
	start := time.Now()
	copy(dst, recs)
	copySeconds := since(start)
	const size = 64
	n := len(recs) / size
	start = time.Now()
	for i, at := 0, 0; i < n; i++ {
		at = (at + 7919*13) % n
		copy(dst[i*size:(i+1)*size], recs[at*size:(at+1)*size])
	}
	runtime.KeepAlive(dst)
	return float64(len(recs)) / copySeconds, max(since(start)-copySeconds, 0) / float64(n)
}

// worthMeasuring reports whether the machine is to be measured before the strategy is chosen. Where the devices hold all
// of the data, or it is in order, there is nothing to choose.
func (j *job) worthMeasuring() bool {
	held := j.data.Records() <= j.capacity || j.planSpread() != nil
	return !held && !j.ordered && j.mayMeasure(calibrateBytes) && !j.rates.measured
}

// mayMeasure reports whether the input has so many bytes that the machine may be measured first, and whether there is the
// memory. EXTSORT_RATES=default keeps the plan independent of the machine's mood.
func (j *job) mayMeasure(leastBytes int64) bool {
	return j.data.Records()*int64(j.size) >= leastBytes && j.opt.MemoryBytes >= calibrateMemory &&
		os.Getenv("EXTSORT_RATES") != "default"
}
