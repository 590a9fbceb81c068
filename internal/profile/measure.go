package profile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

const (
	trialBytes = 16 << 20 // of records that are sorted, merged or scattered: more than most caches hold
	touchBytes = 128 << 20
	copyBytes  = 64 << 20
	trialTime  = 100 * time.Millisecond // that a trial is repeated, but three times at least
	blockBytes = 1 << 20
	unitBytes  = 256 << 10
	trialParts = 64
	trialRuns  = 16
	levels     = 4 // of merging trialRuns runs

	diskStep = 32 << 20 // bytes that are written and then made durable
	diskMost = 512 << 20
	diskTime = 500 * time.Millisecond // of each trial of a disk
	atOnce   = 16                     // requests to a disk
)

// Measure measures this machine by trials that take about a second, mostly of one worker, its page cache in the first
// folder, and the disks that folders are on. What is not measured, or is not to be told from what else a trial does, is
// as in the default.
func Measure(ctx context.Context, folders []string) (*plan.Profile, map[string]plan.Disk, error) {
	defer debug.FreeOSMemory()
	p, m, t := plan.DefaultProfile(), thisMachine(), &trials{}
	p.Machine = fmt.Sprintf("%s, %d processors, extsort tune, %s", m.Processor, m.Processors, time.Now().Format("2006-01"))
	t.memory(p)
	t.processor(ctx, p)
	disks := t.disks(ctx, p, folders)
	mend(p)
	if err := cmp.Or(ctx.Err(), t.err); err != nil {
		return nil, nil, fmt.Errorf("measure this machine: %w", err)
	}
	return p, disks, nil
}

// trials end with the first error.
type trials struct{ err error }

// least is the least seconds of several times: somebody else may have stopped the others.
func (t *trials) least(trial func() error) (seconds float64) {
	seconds = math.Inf(1)
	begin := time.Now()
	for n := 0; t.err == nil && (n < 3 || time.Since(begin) < trialTime); n++ {
		start := time.Now()
		t.err = trial()
		seconds = min(seconds, time.Since(start).Seconds())
	}
	return seconds
}

// data are records of size bytes whose key is their first ones.
func (t *trials) data(size, keySize int, dist string, bytes int64, seed uint64) (k *format.Keyer, recs []byte) {
	layout := format.Layout{RecordSize: size}
	layout.Key = []format.Field{{Type: format.Type{Kind: format.Unsigned, Size: keySize}}}
	records := bytes / int64(size)
	k, err := format.NewKeyer(layout)
	g, alsoErr := format.NewGenerator(layout, dist, seed, records)
	recs = make([]byte, records*int64(size))
	if t.err = cmp.Or(t.err, err, alsoErr); t.err == nil {
		g.Fill(recs, 0)
	}
	return k, recs
}

// memory measures copies, and memory which nobody has touched. That is tried once: then it is touched.
func (t *trials) memory(p *plan.Profile) {
	from, to := make([]byte, copyBytes), make([]byte, copyBytes)
	clear(from) // so that its pages are there
	p.CopyBytes = copyBytes / t.least(func() error { copy(to, from); return nil })
	fresh, err := arena.Alloc(touchBytes) // as chunks have it, in huge pages where there are some
	if t.err = cmp.Or(t.err, err); err != nil {
		return
	}
	defer fresh.Free()
	start := time.Now()
	for at := 0; at < touchBytes; at += 4 << 10 {
		fresh.Bytes()[at] = 1
	}
	p.Touch = time.Since(start).Seconds() / touchBytes
}

// processor measures sorting, merging and scattering. REQUIRES: memory is measured.
func (t *trials) processor(ctx context.Context, p *plan.Profile) {
	p.Sort, p.Count = t.sort(ctx, 8, 8, 1), t.sort(ctx, 2, 2, 1)
	p.Move = t.sort(ctx, 16, 8, 1) - p.Sort - plan.MoveCopies*16/p.CopyBytes
	p.Gather = t.sort(ctx, 100, 8, 1) - p.Sort - 100/p.CopyBytes
	n := runtime.NumCPU()
	p.SortPower = min(math.Log(p.Sort/t.sort(ctx, 8, 8, n))/math.Log(float64(n)), 1)
	p.Merge = t.merge(ctx, 8) / levels
	p.Refer = (t.merge(ctx, 16) - p.Follow - 16/p.CopyBytes) / levels
	p.Scatter = t.scatter(ctx, 8) - plan.ScatterCopies*8/p.CopyBytes
	p.Plain = t.scatter(ctx, 20) - plan.ScatterCopies*20/p.CopyBytes - p.Scatter
}

// sort is the seconds in which workers sort a record.
func (t *trials) sort(ctx context.Context, size, keySize, workers int) float64 {
	bytes := trialBytes / 2 * int64(min(max(workers, 2), 32)) // for each, what takes longer to do than to begin
	k, recs := t.data(size, keySize, "uniform", bytes, 1)
	run := spill.MemoryRun(k, recs, unitBytes/16/size) // no block is read by several workers, who would wait
	opt := device.ChunkOptions{Keyer: k, Records: run.Records(), BlockBytes: blockBytes, Workers: workers}
	chunk, err := cpu.New().NewChunk(ctx, opt)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	defer chunk.Close()
	return t.least(func() error {
		if _, err := chunk.Load(ctx, run.Source(0, run.Blocks())); err != nil {
			return err
		}
		return cmp.Or(chunk.Sort(ctx), chunk.Store(ctx, -1, false, device.Discard))
	}) / float64(run.Records())
}

// merge is the seconds in which one worker merges a record of one of trialRuns runs.
func (t *trials) merge(ctx context.Context, size int) float64 {
	opt, runs := merge.Options{Workers: 1, BlockBytes: blockBytes, Limit: -1}, make([]*spill.Run, trialRuns)
	for i := range runs {
		k, recs := t.data(size, 8, "sorted", trialBytes/trialRuns, uint64(i))
		opt.Keyer, runs[i] = k, spill.MemoryRun(k, recs, 1<<13)
	}
	return t.least(func() error { return merge.Merge(ctx, opt, runs, device.Discard) }) * float64(size) / trialBytes
}

// oblivion is spill that is not kept.
type oblivion struct{ spill.File }

func (oblivion) Create(string) (spill.File, error)      { return oblivion{}, nil }
func (oblivion) Free([]string) int64                    { return -1 }
func (oblivion) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (oblivion) Release(int64, int64)                   {}
func (oblivion) Close() error                           { return nil }

// scatter is the seconds in which one worker sends a record to its part, which is not kept.
func (t *trials) scatter(ctx context.Context, size int) float64 {
	k, recs := t.data(size, 8, "uniform", trialBytes, 1)
	part := &chunker.Part{Run: spill.MemoryRun(k, recs, unitBytes/size)}
	sample, err := part.Sample(ctx, k, trialParts*trialParts)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	slices.Sort(sample.Prefixes)
	classifier := chunker.NewClassifier(sample.Prefixes, trialParts)
	opt := plan.Scatter{Workers: 1, BlockBytes: unitBytes / size * size, UnitBytes: plan.MaxUnitBytes}
	store, err := spill.New(spill.Options{
		Store: oblivion{}, Folders: []string{""}, Codec: "none", Keyer: k, ExpectBytes: -1,
	})
	if t.err = err; err != nil {
		return 0
	}
	defer store.Close() // nothing is kept that could fail
	return t.least(func() error {
		_, err := chunker.Scatter(ctx, k, part, classifier, store, opt)
		return err
	}) * float64(size) / trialBytes
}

// disks measures the page cache in the first folder, and the disks that folders are on, once each.
func (t *trials) disks(ctx context.Context, p *plan.Profile, folders []string) map[string]plan.Disk {
	disks := map[string]plan.Disk{}
	for i, folder := range folders {
		if d := (plan.Disk{ID: diskID(folder)}); i == 0 || disks[d.ID].Write == 0 {
			if t.files(ctx, p, folder, i == 0, &d); !spill.InMemory(folder) {
				disks[d.ID] = d
			}
		}
	}
	return disks
}

// files measures the disk of a folder by a file, and with the first one the page cache.
func (t *trials) files(ctx context.Context, p *plan.Profile, folder string, first bool, d *plan.Disk) {
	file, err := os.CreateTemp(folder, "extsort-profile-*")
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return
	}
	defer os.Remove(file.Name())
	defer file.Close()
	block := make([]byte, blockBytes)
	for i := range block {
		block[i] = byte(i * i >> 8) // nothing that a disk need not write
	}
	write, sync, bytes := 0.0, 0.0, int64(0)
	for start := time.Now(); t.err == nil && bytes < diskMost && time.Since(start) < diskTime; bytes += diskStep {
		from := time.Now()
		for at := bytes; at < bytes+diskStep && t.err == nil; at += blockBytes {
			_, t.err = file.WriteAt(block, at)
		}
		write += time.Since(from).Seconds()
		from = time.Now()
		t.err = cmp.Or(t.err, file.Sync(), ctx.Err())
		sync += time.Since(from).Seconds()
	}
	d.Write = float64(bytes) / max(sync, 1e-3)
	d.Folder, _ = filepath.Abs(folder)
	if first {
		t.cache(ctx, p, file.Name(), float64(bytes)/write)
	}
	if t.err == nil && spill.Uncache(file) { // else it would be the page cache that is read
		d.Fetch, d.Mixed = t.disk(ctx, file, bytes, false), t.disk(ctx, file, bytes, true)/2
	}
}

// cache measures the page cache by a file that has just been written there, at a rate.
func (t *trials) cache(ctx context.Context, p *plan.Profile, name string, write float64) {
	in, err := input.Open(ctx, input.Kind{Spec: format.Spec{Type: "u64"}}, input.Named(name), nil, 0)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return
	}
	defer in[0].Close()
	cached := func(float64) bool { return false }
	// A file just written may be read faster than others in the page cache, which are not to be taken for a disk's.
	rate, _ := ReadRate(ctx, in, cached)
	p.ReadBytes, p.WriteBytes = min(rate, p.ReadBytes), write
	p.SpillBytes = 2 / (1/p.WriteBytes + 1/p.ReadBytes)
}

// disk is the bytes/s that many requests for blocks of a file move at a time. Mixed, every other one writes.
func (t *trials) disk(ctx context.Context, file *os.File, bytes int64, mixed bool) (rate float64) {
	memory, err := arena.Alloc(atOnce * plan.RequestBytes)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	defer memory.Free()
	var next atomic.Int64
	rate, t.err = rateOf(ctx, atOnce, bytes, diskTime, func(i int) (int, error) {
		block, n := memory.Bytes()[i*plan.RequestBytes:][:plan.RequestBytes], next.Add(1)-1
		move := file.ReadAt
		if mixed && n%2 == 1 {
			move = file.WriteAt
		}
		if err := ctx.Err(); err != nil || (n+1)*plan.RequestBytes > bytes {
			return 0, err
		}
		return move(block, n*plan.RequestBytes)
	})
	return rate
}
