package session

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/merge/output"
)

// These functions return properties of this machine. Tests replace them.
var (
	// machineProfile returns the rates that extsort tune has measured, or the defaults.
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) {
		kept := profile.Load()
		return kept.Profile, kept.DiskOf
	}

	// systemMemory returns the memory of the machine or its cgroup; 0: unknown.
	systemMemory = profile.Memory

	// isOnDisk reports whether a directory is on a disk, not in memory.
	isOnDisk = func(dir string) bool { return !spill.InMemory(dir) }
)

// tailBuffers is the size of the buffer that holds back the tail of a stream, in multiples of the
// tail. One half contains the tail, and the other half is room to move it.
const tailBuffers = 2

// gatherFacts returns all facts. It opens the devices that will sort, which depend on the other
// facts. If the checkpoint is complete, it opens none.
func (s *session) gatherFacts(ctx context.Context, p *plan.Profile,
	diskOf func(string) plan.Disk) (*plan.Facts, error) {
	f, err := factsOfData(ctx, &s.opt, s.run, p, diskOf)
	if err != nil {
		return nil, err
	}
	if f.Checkpoint, err = s.identify(f); err != nil || f.Checkpoint != nil && f.Checkpoint.Complete {
		return f, err
	}
	f.Devices, err = s.openDevices(ctx, f, p)
	return f, err
}

// factsOf returns the facts that are known without reading any records.
func factsOf(opt *Options, in *engine.Input) *plan.Facts {
	f := &plan.Facts{
		Keyer:    in.Keyer,
		Records:  in.Data.Records(),
		Seekable: in.Seekable(),
		Remote:   in.Remote() || opt.faults.remote,
		InPlace:  in.Overwritten() != nil,

		ConcurrentInputs: opt.merge != nil,
		Request: plan.Request{
			Strategy:     opt.Strategy,
			Unique:       opt.Unique || opt.Duplicates,
			CombinesRuns: opt.aggregation != nil && opt.aggregation.CombinesRuns(),
			TallyBytes:   engine.TallyBytes(opt.form(in), in.Keyer, opt.Unique || opt.Duplicates),
			Limit:        opt.Limit,
			ExtraBytes:   opt.extraBytes(in),
			Transforms:   opt.countTransforms(),
			ReadSize:     in.ReadSize(),
			MemoryBytes:  opt.MemoryBytes,
			Workers:      opt.Workers,
			BatchSize:    opt.BatchSize,
			SpillCodec:   opt.SpillCompress,
			Algorithm:    opt.Algorithm,
			DigitBits:    opt.DigitBits,
			ChunkRecords: opt.faults.chunkRecords,
			BlockBytes:   opt.faults.blockBytes,
		},
		Output: outputOf(opt),
		Spill:  plan.Spill{Dirs: opt.TempDirs, Free: -1},
	}
	decoders := decodingOf(opt, in.Files).memory
	for i, file := range in.Files {
		decoder := decoders[i]
		if !file.Seekable() {
			decoder += tailBuffers * opt.SkipTail
		}
		f.Decoders = append(f.Decoders, decoder)
	}
	return f
}

// factsOfData returns all facts except the checkpoint and the devices. To the facts of factsOf, it
// adds a sample of the keys, and the memory and disks of the machine. A small sort skips the
// machine and its disks, because querying them takes longer than sorting.
func factsOfData(ctx context.Context, opt *Options, run *engine.Run, p *plan.Profile,
	diskOf func(string) plan.Disk) (*plan.Facts, error) {
	in := run.Input
	f := factsOf(opt, in)
	var err error
	if f.Sample, err = in.Data.Sample(ctx, in.Keyer, plan.SampleKeys); err != nil {
		return nil, err
	}
	f.Sample.Enough = len(f.Sample.Prefixes) >= plan.SampleLimit(plan.SampleKeys, in.ReadSize())/2

	inputBytes := f.Records * int64(in.Keyer.Layout().RecordSize)
	isSmall := inputBytes >= 0 && inputBytes < min(plan.SmallBytes, opt.MemoryBytes/2)
	if isSmall && f.Request.ChunkRecords == 0 {
		return f, nil
	}
	f.Memory = systemMemory()
	addDirs(f, opt, run.Store, diskOf)
	if f.Seekable && !f.Remote {
		first := opt.sources()[0]
		if isFile := first.At == nil && !isReadOnce(first); isFile {
			f.Disk = diskOf(first.Name)
		}
		addReadRate(ctx, f, opt, in, p)
	}
	return f, nil
}

// addReadRate adds the rate at which one worker reads the input, measured by a trial, and whether
// it comes from a disk.
func addReadRate(ctx context.Context, f *plan.Facts, opt *Options, in *engine.Input, p *plan.Profile) {
	f.ReadRate = opt.faults.readBytes
	if f.ReadRate == 0 {
		f.ReadRate, f.FromDisk = profile.ReadRate(ctx, in.Files, p.IsDisk)
	}
}

// addDirs adds facts about the temporary directories and the directory of the output, and the
// space in them.
func addDirs(f *plan.Facts, opt *Options, store spill.Store, diskOf func(string) plan.Disk) {
	f.Spill.OnDisk = slices.ContainsFunc(opt.TempDirs, isOnDisk)
	f.Spill.Free = freeForSpill(f, opt, cmp.Or[spill.Store](store, spill.Disk{}))
	f.Spill.Disk = diskOf(opt.TempDirs[0])
	f.Output.OnDisk = f.Output.File && isOnDisk(filepath.Dir(opt.Output))
	f.Output.Disk = diskOf(opt.Output)

	holdsOutput := func(dir string) bool {
		disk := diskOf(dir)
		return disk.Is(&f.Output.Disk)
	}
	if f.Spill.Free >= 0 && slices.ContainsFunc(opt.TempDirs, holdsOutput) {
		f.Spill.Output = min(f.ReservedBytes(), f.Spill.Free)
		f.Spill.Free -= f.Spill.Output
	}
}

// freeForSpill returns the free space in the temporary directories; negative: unknown. Files in a
// directory in memory use the memory of the machine, so they can use only memory beyond the memory
// limit.
func freeForSpill(f *plan.Facts, opt *Options, store spill.Store) int64 {
	inMemory, onDisk := splitDirs(opt.TempDirs)
	if len(inMemory) == 0 || f.Memory == 0 {
		return store.Free(opt.TempDirs)
	}
	memory := max(f.Memory-opt.MemoryBytes, 0)
	if free := store.Free(inMemory); free >= 0 {
		memory = min(memory, free)
	}
	if len(onDisk) == 0 {
		return memory
	}
	free := store.Free(onDisk)
	if free < 0 {
		return free
	}
	return free + memory
}

// splitDirs divides directories into those in memory and those on disks.
func splitDirs(dirs []string) (inMemory, onDisk []string) {
	for _, dir := range dirs {
		if isOnDisk(dir) {
			onDisk = append(onDisk, dir)
		} else {
			inMemory = append(inMemory, dir)
		}
	}
	return inMemory, onDisk
}

// warnOfMemoryDirs warns if the plan may spill to directories in memory.
func warnOfMemoryDirs(opt *Options, p *plan.Plan) {
	inMemory, _ := splitDirs(opt.TempDirs)
	if p.TempBytes == 0 || len(inMemory) == 0 {
		return
	}
	opt.Warn(fmt.Sprintf("temporary directory %s is in memory (tmpfs): temporary files take memory beyond the limit; "+
		"name a directory on a disk with %v", strings.Join(inMemory, ", "), option.TempDirs))
}

// outputOf returns the facts about the output, which is not open yet.
func outputOf(opt *Options) plan.Output {
	codec, _ := format.ParseCompression(opt.Compress, opt.Output) // validate has checked it
	o := plan.Output{Codec: codec}
	_, redirected := output.Descriptor(opt.Output)
	switch {
	case opt.toStdout(): // a stream
	case opt.split() != output.Split{}:
		o.File = true
		o.Set = true
	case remote.IsURL(opt.Output):
		o.Remote = true
	case !redirected:
		info, err := os.Stat(opt.Output)
		o.File = err != nil || info.Mode().IsRegular()
	}
	return o
}
