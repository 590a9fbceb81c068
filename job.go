package extsort

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// job is one sort from its options to its report.
type job struct {
	opt    Options // with the defaults filled in
	inputs []*input.Input
	header *format.Header
	keyer  *format.Keyer
	size   int // bytes of a record

	data     chunker.Dataset
	sample   chunker.Sample // records from places all over the data; from a stream its first
	distinct *int64         // what wanted gives for a limit of keys; nil: it was not asked yet
	ordered  bool           // all of the data looks as if it were in order, or in reverse order
	mirrored bool           // ordered means in reverse order
	devices  []device.Device
	autoGPU  bool // the devices are GPUs that the planner chose

	budget       int64 // bytes of memory for chunks and buffers: the limit without the Go runtime's own
	blockBytes   int   // of the blocks that are spilled and written
	capacity     int64 // records that fit one chunk on every device
	slots        int   // chunks in flight on each GPU
	codecWorkers int   // that compress the output
	spillCoders  int   // blocks of spill that are compressed or decompressed at the same time
	pipeBytes    int64 // of memory to write to a pipe with; 0: none to spare
	rates        rates
	plan         *SortPlan

	readTrial func() (bytesPerSecond float64, ok bool) // timeReads, which is done but once

	spill *spill.Spill // nil as long as nothing is spilled
	meter *meter

	recordsIn atomic.Int64 // read from the inputs
	sumIn     *checksum    // of what was read; nil unless asked for

	mu     sync.Mutex // protects the following
	stats  []device.Stats
	report Report
}

// beginJob makes the job of valid options and opens what it needs; after an error nothing is left open.
func beginJob(opt Options, open func(*job) error) (*job, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	j := &job{opt: opt.withDefaults(), rates: defaultRates}
	j.budget = budgetOf(j.opt.MemoryBytes)
	j.meter = &meter{progress: j.opt.Progress}
	j.readTrial = sync.OnceValues(j.timeReads)
	if err := open(j); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// newJob opens the inputs and plans the sort.
func newJob(ctx context.Context, opt Options) (*job, error) {
	j, err := beginJob(opt, func(j *job) error { return j.open(ctx) })
	if err != nil {
		return nil, err
	}
	if j.worthMeasuring() {
		j.rates = j.measuredRates(ctx)
	}
	if j.gpuRates() != nil {
		j.rates.startSeconds += gpuDriverSeconds + gpuStartSeconds
	}
	j.plan = j.newPlan()
	if j.opt.Strategy == Reread && j.plan.Strategy != Reread {
		j.opt.Warn(fmt.Sprintf("strategy reread is not possible here, %s is taken: it %s", j.plan.Strategy, rereadNeeds))
	}
	if j.opt.SpillCompress == "delta" && format.NewPacker(j.keyer.Layout()) == nil {
		j.opt.Warn(fmt.Sprintf("spill of records of %d bytes is not compressed by delta, but stored as it is", j.size))
	}
	spills := j.plan.Strategy == MergeRuns || j.plan.Strategy == Partition
	if !j.plan.Considered[0].possible || spills && j.plan.Records > j.capacity && !j.canMerge() {
		return nil, errors.Join(j.tooLittle(), j.close())
	}
	return j, nil
}

// withDefaults fills in what was left open.
func (o Options) withDefaults() Options {
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	if o.Stdout == nil {
		o.Stdout = os.Stdout
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultMemory()
	} else if o.MemoryBytes > 1<<30 { // else it takes longer to ask than to sort a small file
		if all := systemMemory(); all > 0 {
			o.MemoryBytes = min(o.MemoryBytes, max(all, 1<<30)) // a stream may need all, nobody knows
		}
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if len(o.TempDirs) == 0 {
		o.TempDirs = []string{defaultTempDir()}
	}
	if o.Progress == nil {
		o.Progress = silent{}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// defaultTempDir is TMPDIR, else /var/tmp where there is one: /tmp often lies in memory.
func defaultTempDir() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	if info, err := os.Stat("/var/tmp"); err == nil && info.IsDir() {
		return "/var/tmp"
	}
	return os.TempDir()
}

func (j *job) open(ctx context.Context) (err error) {
	if err := j.openInputs(ctx); err != nil {
		return err
	}
	if j.sample, err = j.data.Sample(j.keyer, sampleSize); err != nil {
		return err
	}
	j.ordered = j.looksSorted()
	if !j.ordered {
		j.mirrored = j.looksMirrored()
		j.ordered = j.mirrored
	}
	if err = j.openDevices(ctx); err != nil {
		return err
	}
	return j.divideMemory()
}

// minWindowBytes is the window of zstd that every input may use, whatever the memory limit: levels up to 19 need it.
const minWindowBytes = 8 << 20

// openInputs opens the inputs and settles what a record is.
func (j *job) openInputs(ctx context.Context) (err error) {
	j.inputs, err = input.Open(ctx, j.opt.Record, j.opt.Inputs, j.opt.Stdin, max(j.opt.MemoryBytes/4, minWindowBytes))
	if err != nil {
		return err
	}
	j.header = j.inputs[0].Header
	layout := j.header.Layout()
	if j.opt.Reverse {
		layout = layout.Reverse()
	}
	if j.keyer, err = format.NewKeyer(layout); err != nil {
		return err
	}
	j.size = layout.RecordSize
	if j.opt.Verify {
		j.sumIn = &checksum{}
	}
	j.limitWorkers()
	j.data = &watchDataset{
		Dataset: j.opt.faults.dataset(chunker.NewDataset(j.inputs)), size: j.size, seen: j.see,
		mayMap: j.mappable,
	}
	return nil
}

func (j *job) deviceNames() string {
	var names []string
	for _, d := range j.devices {
		names = append(names, d.Info().Name)
	}
	return strings.Join(names, ", ")
}

// openSpill makes the temporary files, once. Blocks will go to so many extents at the same time, if to any.
func (j *job) openSpill(expectBytes int64, extents int) error {
	if j.spill != nil {
		return nil
	}
	opt := spill.Options{
		Store: j.opt.faults.store(), Folders: j.opt.TempDirs, Codec: j.opt.SpillCompress, Keyer: j.keyer,
		ExpectBytes: expectBytes, Extents: extents, CachedBytes: j.cachedSpill(),
		BlockBytes: j.blockBytes, Workers: j.opt.Workers, Coders: j.spillCoders,
	}
	if all := j.plan.Considered; len(all) > 0 && all[0].packAll && all[0].temp == expectBytes {
		opt.Codec, opt.ExpectBytes = "delta", all[0].room
	}
	spill, err := spill.New(opt)
	j.spill = spill
	return err
}

// close gives back everything. The output is not its affair.
func (j *job) close() error {
	var errs []error
	if j.spill != nil {
		j.report.BytesSpilled, j.report.SpillCodec = j.spill.Written(), j.spill.Codec()
		errs = append(errs, j.spill.Close())
	}
	for _, d := range j.devices {
		errs = append(errs, d.Close())
	}
	if j.data != nil {
		errs = append(errs, j.data.Close())
	}
	j.spill, j.devices, j.data = nil, nil, nil
	return errors.Join(errs...)
}

// joinAlgorithms names the algorithms that sorted the chunks: several when devices differ.
func joinAlgorithms(stats []device.Stats) string {
	var names []string
	for _, s := range stats {
		if s.Algorithm != "" && !slices.Contains(names, s.Algorithm) {
			names = append(names, s.Algorithm)
		}
	}
	return strings.Join(names, ", ")
}
