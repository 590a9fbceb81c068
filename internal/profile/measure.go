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
	"github.com/extsort/extsort/internal/blockio"
	"github.com/extsort/extsort/merge"
)

const (
	// size of the records that are sorted, merged or scattered; exceeds most caches
	trialBytes = 16 << 20
	touchBytes = 128 << 20
	copyBytes  = 64 << 20
	// minimum duration of a trial, which runs at least three times
	trialTime  = 100 * time.Millisecond
	blockBytes = 1 << 20
	unitBytes  = 256 << 10
	trialParts = 64
	trialRuns  = 16
	levels     = 4 // levels of merging trialRuns runs

	diskStep = 32 << 20 // bytes written between two syncs
	diskMost = 512 << 20
	diskTime = 500 * time.Millisecond // maximum duration of each trial of a disk
	atOnce   = 16                     // number of concurrent requests to a disk
)

// Measure measures this machine with trials that take about a second in total. It measures the work
// of a worker, the page cache of the first directory, and the disks of the directories. Values keep
// their defaults if they are not measured or cannot be separated from the other work of a trial.
func Measure(ctx context.Context, folders []string) (*plan.Profile, map[string]plan.Disk, error) {
	defer debug.FreeOSMemory()

	p := plan.DefaultProfile()
	m := thisMachine()
	t := &trials{}
	p.Machine = fmt.Sprintf(
		"%s, %d processors, extsort tune, %s", m.Processor, m.Processors,
		time.Now().Format("2006-01"),
	)
	t.measureMemory(p)
	t.measureProcessor(ctx, p)
	disks := t.measureDisks(ctx, p, folders)
	fillMissingPrices(p)
	if err := cmp.Or(context.Cause(ctx), t.err); err != nil {
		return nil, nil, fmt.Errorf("measure this machine: %w", err)
	}
	return p, disks, nil
}

// trials stop at the first error.
type trials struct{ err error }

// shortest runs a trial several times and returns the least time in seconds, because other
// processes may have interrupted the others.
func (t *trials) shortest(trial func() error) (seconds float64) {
	seconds = math.Inf(1)
	begin := time.Now()
	for n := 0; t.err == nil && (n < 3 || time.Since(begin) < trialTime); n++ {
		start := time.Now()
		t.err = trial()
		seconds = min(seconds, time.Since(start).Seconds())
	}
	return seconds
}

// makeRecords returns records of size bytes. Their key is at the start.
func (t *trials) makeRecords(
	size, keySize int, dist string, bytes int64, seed uint64,
) (k *format.Keyer, recs []byte) {
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

// measureMemory measures copying, and the first access to memory. The latter is measured once,
// because the memory is touched afterwards.
func (t *trials) measureMemory(p *plan.Profile) {
	from := make([]byte, copyBytes)
	to := make([]byte, copyBytes)
	clear(from) // allocates its pages
	p.CopyBytes = copyBytes / t.shortest(func() error { copy(to, from); return nil })
	fresh, err := arena.Alloc(touchBytes) // in huge pages if available, like the memory of chunks
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

// measureProcessor measures sorting, merging and scattering. REQUIRES: memory has been measured
func (t *trials) measureProcessor(ctx context.Context, p *plan.Profile) {
	p.Sort, p.Count = t.sortSeconds(ctx, 8, 8, 1), t.sortSeconds(ctx, 2, 2, 1)
	p.Move = t.sortSeconds(ctx, 16, 8, 1) - p.Sort - plan.MoveCopies*16/p.CopyBytes
	p.Gather = t.sortSeconds(ctx, 100, 8, 1) - p.Sort - 100/p.CopyBytes
	n := runtime.NumCPU()
	p.SortPower = min(math.Log(p.Sort/t.sortSeconds(ctx, 8, 8, n))/math.Log(float64(n)), 1)
	p.Merge = t.mergeSeconds(ctx, 8) / levels
	p.Refer = (t.mergeSeconds(ctx, 16) - p.Follow - 16/p.CopyBytes) / levels
	p.Scatter = t.scatterSeconds(ctx, 8) - plan.ScatterCopies*8/p.CopyBytes
	p.Plain = t.scatterSeconds(ctx, 20) - plan.ScatterCopies*20/p.CopyBytes - p.Scatter
}

// sortSeconds returns the seconds per record for sorting with the given number of workers.
func (t *trials) sortSeconds(ctx context.Context, size, keySize, workers int) float64 {
	// enough for each worker to exceed its startup time
	bytes := trialBytes / 2 * int64(min(max(workers, 2), 32))
	k, recs := t.makeRecords(size, keySize, "uniform", bytes, 1)
	// small blocks, so that no two workers read, and wait for, the same block
	run := spill.MemoryRun(k, recs, unitBytes/16/size)
	opt := device.ChunkOptions{
		Keyer:      k,
		Records:    run.Records(),
		BlockBytes: blockBytes,
		Workers:    workers,
	}
	chunk, err := cpu.New().NewChunk(ctx, opt)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	defer chunk.Close()
	return t.shortest(func() error {
		if _, err := chunk.Load(ctx, run.Source(0, run.Blocks())); err != nil {
			return err
		}
		return cmp.Or(chunk.Sort(ctx), chunk.Store(ctx, -1, false, device.Discard))
	}) / float64(run.Records())
}

// mergeSeconds returns the seconds per record for merging trialRuns runs with one worker.
func (t *trials) mergeSeconds(ctx context.Context, size int) float64 {
	opt := merge.Options{
		Workers:    1,
		BlockBytes: blockBytes,
		Limit:      -1,
	}
	runs := make([]*spill.Run, trialRuns)
	for i := range runs {
		k, recs := t.makeRecords(size, 8, "sorted", trialBytes/trialRuns, uint64(i))
		opt.Keyer, runs[i] = k, spill.MemoryRun(k, recs, 1<<13)
	}
	return t.shortest(func() error {
		return merge.Merge(ctx, opt, runs, device.Discard)
	}) * float64(size) / trialBytes
}

// discardingFile discards spilled data.
type discardingFile struct{ spill.File }

func (discardingFile) Create(string) (spill.File, error) {
	return discardingFile{}, nil
}
func (discardingFile) Free([]string) int64 { return -1 }
func (discardingFile) WriteAt(p []byte, _ int64) (int, error) {
	return len(p), nil
}
func (discardingFile) Release(int64, int64) {}
func (discardingFile) Close() error         { return nil }

// scatterSeconds returns the seconds per record for scattering with one worker. The parts are
// discarded.
func (t *trials) scatterSeconds(ctx context.Context, size int) float64 {
	k, recs := t.makeRecords(size, 8, "uniform", trialBytes, 1)
	part := &chunker.Partition{Run: spill.MemoryRun(k, recs, unitBytes/size)}
	sample, err := part.Sample(ctx, k, trialParts*trialParts)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	slices.Sort(sample.Prefixes)
	classifier := chunker.NewClassifier(sample.Prefixes, trialParts)
	opt := plan.Scatter{
		Workers:    1,
		BlockBytes: unitBytes / size * size,
		UnitBytes:  plan.MaxUnitBytes,
	}
	store, err := spill.New(spill.Options{
		Store:       discardingFile{},
		Folders:     []string{""},
		Codec:       "none",
		Keyer:       k,
		ExpectBytes: -1,
	})
	if t.err = err; err != nil {
		return 0
	}
	defer store.Close() // cannot fail, because nothing is stored
	return t.shortest(func() error {
		_, err := chunker.Scatter(ctx, k, part, classifier, store, opt)
		return err
	}) * float64(size) / trialBytes
}

// measureDisks measures the page cache of the first directory, and each disk of the directories
// once.
func (t *trials) measureDisks(
	ctx context.Context, p *plan.Profile, folders []string,
) map[string]plan.Disk {
	disks := map[string]plan.Disk{}
	for i, folder := range folders {
		if d := (plan.Disk{ID: diskID(folder)}); i == 0 || disks[d.ID].Write == 0 {
			if t.measureFolder(ctx, p, folder, i == 0, &d); !spill.InMemory(folder) {
				disks[d.ID] = d
			}
		}
	}
	return disks
}

// measureFolder measures the disk of a directory with a file. For the first directory it also
// measures the page cache.
func (t *trials) measureFolder(
	ctx context.Context, p *plan.Profile, folder string, first bool, d *plan.Disk,
) {
	file, err := os.CreateTemp(folder, "extsort-profile-*")
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return
	}
	defer os.Remove(file.Name())
	defer file.Close()
	block := make([]byte, blockBytes)

	for i := range block {
		block[i] = byte(i * i >> 8) // not compressible to nothing by the disk
	}
	write := 0.0
	sync := 0.0
	bytes := int64(0)

	for start := time.Now(); t.err == nil && bytes < diskMost &&
		time.Since(start) < diskTime; bytes += diskStep {
		from := time.Now()
		for at := bytes; at < bytes+diskStep && t.err == nil; at += blockBytes {
			_, t.err = file.WriteAt(block, at)
		}
		write += time.Since(from).Seconds()
		from = time.Now()
		t.err = cmp.Or(t.err, file.Sync(), context.Cause(ctx))
		sync += time.Since(from).Seconds()
	}

	d.Write = float64(bytes) / max(sync, 1e-3)
	d.Folder, _ = filepath.Abs(folder)
	if first {
		t.measureCache(ctx, p, file.Name(), float64(bytes)/write)
	}
	if t.err == nil && blockio.Uncache(file) { // otherwise this would measure the page cache
		d.Fetch = t.throughput(ctx, file, bytes, false)
		d.Mixed = t.throughput(ctx, file, bytes, true) / 2
	}
}

// measureCache measures the page cache with a file that has just been written at the given rate.
func (t *trials) measureCache(ctx context.Context, p *plan.Profile, name string, write float64) {
	in, err := input.Open(
		ctx, input.Kind{Spec: format.Spec{Type: "u64"}}, input.Named(name), nil, 0,
	)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return
	}
	defer in[0].Close()

	cached := func(float64) bool { return false }
	// A file that was just written may be read faster than other files in the page cache. The
	// result must not make those look like files on a disk.
	rate, _ := ReadRate(ctx, in, cached)
	p.ReadBytes = min(rate, p.ReadBytes)
	p.WriteBytes = write
	p.SpillBytes = 2 / (1/p.WriteBytes + 1/p.ReadBytes)
}

// throughput returns the throughput in bytes/s of concurrent requests for blocks of a file. If
// mixed is set, every other request writes.
func (t *trials) throughput(ctx context.Context, file *os.File, bytes int64, mixed bool) (rate float64) {
	memory, err := arena.Alloc(atOnce * plan.RequestBytes)
	if t.err = cmp.Or(t.err, err); t.err != nil {
		return 0
	}
	defer memory.Free()

	var next atomic.Int64
	rate, t.err = rateOf(ctx, atOnce, bytes, diskTime, func(i int) (int, error) {
		block := memory.Bytes()[i*plan.RequestBytes:][:plan.RequestBytes]
		n := next.Add(1) - 1
		move := file.ReadAt
		if mixed && n%2 == 1 {
			move = file.WriteAt
		}
		if err := context.Cause(ctx); err != nil || (n+1)*plan.RequestBytes > bytes {
			return 0, err
		}
		return move(block, n*plan.RequestBytes)
	})
	return rate
}
