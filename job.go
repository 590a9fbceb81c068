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
	"github.com/extsort/extsort/chunker/pipe"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

// job is one sort from its options to its report.
type job struct {
	opt    Options // with the defaults filled in
	inputs []*chunker.Input
	header *format.Header
	keyer  *format.Keyer
	size   int // bytes of a record

	data     chunker.Dataset
	sample   chunker.Sample // records from places all over the data; from a stream its first
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
	assembly     int64 // bytes of memory to collect an output in that is sorted in core; 0: none
	pipeBytes    int64 // of memory to write to a pipe with; 0: none to spare
	rates        rates
	plan         *SortPlan

	spill *chunker.Spill // nil as long as nothing is spilled
	meter *meter

	recordsIn atomic.Int64 // read from the inputs
	sumIn     *checksum    // of what was read; nil unless asked for

	mu     sync.Mutex // protects the following
	stats  []device.Stats
	report Report
}

// runtimeBytes is what a run needs besides chunks and buffers: the program's data, stacks, the Go heap with its
// garbage, block indexes.
const runtimeBytes = 12 << 20

// budgetOf is what chunks and buffers may use of a memory limit. Garbage and the rounding of large allocations to
// huge pages grow with the work: a sort of 4 GiB in 512 MiB took 7 MiB more than runtimeBytes leaves room for.
func budgetOf(memoryBytes int64) int64 { return memoryBytes - runtimeBytes - memoryBytes/48 }

// beginJob makes the job of valid options and opens what it needs; after an error nothing is left open.
func beginJob(opt Options, open func(*job) error) (*job, error) {
	if err := opt.validate(); err != nil {
		return nil, err
	}
	j := &job{opt: opt.withDefaults(), rates: defaultRates}
	j.budget = budgetOf(j.opt.MemoryBytes)
	j.meter = &meter{progress: j.opt.Progress}
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
	if !j.plan.Considered[0].possible || j.plan.Strategy == MergeRuns && j.plan.Records > j.capacity && !j.canMerge() {
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
	}
	if o.MemoryBytes > 1<<30 { // else it takes longer to ask than to sort a small file
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
	if err := j.openInputs(); err != nil {
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
func (j *job) openInputs() (err error) {
	j.inputs, err = chunker.OpenAll(j.opt.Record, j.opt.Inputs, j.opt.Stdin, max(j.opt.MemoryBytes/4, minWindowBytes))
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
		seekable: allSeekable(j.inputs), mayMap: j.mappable,
	}
	return nil
}

// mappable is how many bytes of input may be left where they lie: none if the output is one of the inputs and may be written in its
// place, as where the user opened it for that (1<>FILE).
func (j *job) mappable() int64 {
	out, err := os.FileInfo(nil), os.ErrInvalid
	switch {
	case j.toStdout():
		out, err = statOf(j.opt.Stdout)
	case merge.IsDescriptor(j.opt.Output):
		out, err = os.Stat(j.opt.Output)
	}
	for i, opened := range j.inputs {
		in, missing := os.Stat(opened.Name)
		if len(j.opt.Inputs) == 0 || j.opt.Inputs[i] == chunker.StandardInput {
			in, missing = statOf(j.opt.Stdin)
		}
		if err == nil && missing == nil && os.SameFile(out, in) {
			return 0
		}
	}
	return mappableInput()
}

// statOf is about a standard stream that is a file.
func statOf(stream any) (os.FileInfo, error) {
	if file, ok := stream.(interface{ Stat() (os.FileInfo, error) }); ok {
		return file.Stat()
	}
	return nil, os.ErrInvalid
}

// minWorkerBytes and minWorkerRecords are the least memory that is worth a worker: with less for each, a merge could take
// so few runs at a time that it needed several passes more.
const (
	minWorkerBytes   = 512 << 10
	minWorkerRecords = 8
)

// limitWorkers takes no more workers than the budget has memory for.
func (j *job) limitWorkers() {
	each := max(minWorkerBytes, minWorkerRecords*int64(j.size))
	j.opt.Workers = int(max(1, min(int64(j.opt.Workers), j.budget/each)))
}

// divideMemory settles how much of the memory limit chunks and buffers may use and how large they are.
func (j *job) divideMemory() error {
	j.reserveCodecs(false)
	j.reservePipe()
	j.reserveAssembly()
	j.blockBytes = j.opt.faults.block(j.chooseBlocks(), j.size)
	j.budget -= j.indexBytes(j.blockBytes)
	j.reserveBlocks()
	j.capacity, j.slots = j.chunkSize(1), 1
	if n := j.data.Records(); n < 0 || n > j.capacity || len(j.devices) > 1 {
		j.capacity, j.slots = j.chunkSize(slots), slots
	}
	if j.capacity < 1 {
		return j.tooLittle()
	}
	return nil
}

func (j *job) tooLittle() error {
	workers, advice := "one worker", "raise -S"
	if j.opt.Workers > 1 {
		workers, advice = fmt.Sprintf("%d workers", j.opt.Workers), "raise -S, or lower --parallel"
	}
	return fmt.Errorf("memory limit %s: too little to sort records of %d bytes with %s (%s)", humanBytes(j.opt.MemoryBytes), j.size, workers, advice)
}

// canMerge reports whether memory is enough to merge at all: blocks of large records may be too large for that.
func (j *job) canMerge() bool { return merge.Enough(j.keyer, j.blockBytes, j.mergeBytes()) }

// indexBytes estimates the index of all spilled blocks, which is kept in memory.
func (j *job) indexBytes(blockBytes int) int64 {
	return j.indexEntries(max(j.data.Records(), 0) * int64(j.size) / int64(blockBytes))
}

// indexEntries is the memory of the index of so many blocks.
func (j *job) indexEntries(blocks int64) int64 {
	return blocks * int64(blockEntryBytes+j.keyer.KeySize())
}

// chooseBlocks chooses the size of blocks: larger ones where the index of a huge input would else take more than an
// eighth of the memory.
func (j *job) chooseBlocks() int {
	block := blockBytes(j.budget, j.opt.Workers, j.size)
	for j.indexBytes(block) > j.budget/8 && int64(block) < j.budget/32 {
		block *= 2
	}
	return block
}

// blockEntryBytes is one block's entry in the index of a run, with the copies that sorting them takes.
const blockEntryBytes = 160

// reserveCodecs takes the memory of the compressors and decompressors out of the budget: half of it at most, with
// as few compressing workers as that takes. together says that inputs are not read one after another.
func (j *job) reserveCodecs(together bool) {
	var reading int64
	for _, in := range j.inputs {
		if one := format.CodecMemory(in.Compression, 0); together {
			reading += one
		} else {
			reading = max(reading, one)
		}
	}
	codec, err := j.outputCodec()
	if err != nil {
		return // openOutput reports it
	}
	j.codecWorkers = j.opt.Workers
	for j.codecWorkers > 1 && reading+format.CodecMemory(codec, j.codecWorkers) > j.budget/2 {
		j.codecWorkers--
	}
	j.budget -= min(reading+format.CodecMemory(codec, j.codecWorkers), j.budget/2)
}

// reserveBlocks takes out of the budget what depends on the size of blocks, and leaves out workers that the rest is too
// little for.
func (j *job) reserveBlocks() {
	j.reserveSpillCoders()
	j.reserveUnique()
	j.limitWorkers()
}

// reserveSpillCoders takes the memory of compressed spill out of the budget: an eighth of it, where that is enough for one
// block at a time.
func (j *job) reserveSpillCoders() {
	codec := chunker.SpillCodec(j.opt.SpillCompress)
	j.spillCoders = j.opt.Workers
	for j.spillCoders > 1 && format.BlockMemory(codec, j.spillCoders, j.blockBytes) > j.budget/8 {
		j.spillCoders--
	}
	j.budget -= min(format.BlockMemory(codec, j.spillCoders, j.blockBytes), j.budget/2)
}

// reserveUnique takes the blocks that a merge.Unique compacts out of the budget, one for each worker.
func (j *job) reserveUnique() {
	if j.opt.Unique {
		j.budget -= min(int64(j.opt.Workers)*int64(j.blockBytes), j.budget/4)
	}
}

// reservePipe takes the memory of a pipe's writer out of the budget of a sort to standard output, where it is a small part.
func (j *job) reservePipe() {
	if j.toStdout() && j.budget >= 16*pipe.WriterBytes {
		j.pipeBytes = pipe.WriterBytes
		j.budget -= j.pipeBytes
	}
}

// assembleAtLeast is the data, in bytes, from which on it is worth a copy to write an output in huge pages.
const assembleAtLeast = 64 << 20

// reserveAssembly takes the memory of merge.Output.Assemble out of the budget, where it is a small part and the data may be
// sorted in core by a device that gives its memory back meanwhile.
func (j *job) reserveAssembly() {
	bytes := merge.AssemblyBytes(j.opt.Workers)
	data := j.data.Records() * int64(j.size) // negative: not known
	inCore := data < j.budget && j.onCPU() && cpu.GivesBack(j.keyer)
	if inCore && (data < 0 || data >= assembleAtLeast) && !j.toStdout() && j.budget >= 16*bytes {
		j.assembly = bytes
		j.budget -= bytes
	}
}

const (
	maxBlockBytes = 1 << 20
	minBlockBytes = 32 << 10
)

// blockBytes chooses blocks that are as large as disks like them, but so small that a merge of many runs has
// buffers enough, and whole records.
func blockBytes(budget int64, workers, size int) int {
	block := maxBlockBytes
	for block > minBlockBytes && int64(block)*int64(64+8*workers) > budget {
		block /= 2
	}
	return max(block/size, 1) * size
}

// slots is the number of chunks that are in flight on a GPU when there is more than one chunk: one is loaded while
// another is sorted or stored.
const slots = 2

// slotsOf is the number of chunks that are in flight on d. The CPU's steps all share its processors, so that one
// large chunk is better there than several small ones.
func slotsOf(d device.Device, slots int) int {
	if d.Info().Kind == device.CPU {
		return 1
	}
	return slots
}

// chunkSize is the number of records that a chunk can have on every device.
func (j *job) chunkSize(slots int) int64 {
	capacity := j.opt.faults.capped(1<<63 - 1)
	for _, d := range j.devices {
		n := d.MaxRecords(j.chunkOptions(), j.slotBytes(slots))
		if d.Info().Kind != device.CPU {
			n /= int64(slots) // they share the device's memory
		}
		capacity = min(capacity, n)
	}
	return capacity
}

// slotBytes is the host memory of one chunk.
func (j *job) slotBytes(slots int) int64 {
	total := 0
	for _, d := range j.devices {
		total += slotsOf(d, slots)
	}
	return j.budget / int64(max(total, 1))
}

func (j *job) chunkOptions() device.ChunkOptions {
	return device.ChunkOptions{
		Keyer: j.keyer, BlockBytes: j.blockBytes, Workers: j.opt.Workers,
		Algorithm: j.opt.Algorithm, Sample: j.sample.Prefixes,
	}
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
	var err error
	j.spill, err = chunker.NewSpill(chunker.SpillOptions{
		Store: j.opt.faults.store(), Folders: j.opt.TempDirs, Codec: j.opt.SpillCompress, Keyer: j.keyer,
		ExpectBytes: expectBytes, Extents: extents, Cached: expectBytes >= 0 && expectBytes <= cacheableSpill(),
		BlockBytes: j.blockBytes, Workers: j.opt.Workers, Coders: j.spillCoders,
	})
	return err
}

// close gives back everything. The output is not its affair.
func (j *job) close() error {
	var errs []error
	if j.spill != nil {
		j.report.BytesSpilled = j.spill.Written()
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
