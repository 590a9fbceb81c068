package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/input/pipe"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/profile"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/merge/output"
)

// stdio is the name that stands for standard input and standard output.
const stdio = input.Stdin

// What is known of the machine. Tests take the default, whatever was measured of theirs, and other memory.
var (
	machineProfile = func() (*plan.Profile, func(string) plan.Disk) { k := profile.Load(); return k.Profile, k.DiskOf }
	systemMemory   = profile.Memory
)

// windowsPart is the part of the memory that a window of zstd may take which is larger than usual.
const windowsPart = 4

// heldTails is how much of the tail of a stream is in memory: what is held back, and room to move it.
const heldTails = 2

// openInputs opens the inputs and settles what a record is.
//
// unpack: all of their records are about to be read, so that what does not fit the memory limit while it is compressed
// is decompressed first. The temporary files must stay open as long as the inputs.
func openInputs(ctx context.Context, opt *Options, meter *engine.Meter, unpack bool) (
	in *engine.Input, temporary *unpacked, err error) {
	frame := input.Frame{Skip: opt.SkipBytes, Records: opt.Records, Tail: opt.SkipTail, Keep: opt.KeepHeader}
	kind := input.Kind{Spec: opt.Record, Recognition: opt.recognition(), Frame: frame}
	sources := opt.sources()
	windowBytes := max(opt.MemoryBytes/windowsPart, format.CommonWindow)
	files, err := input.Open(ctx, kind, sources, opt.Stdin, windowBytes)
	if err != nil {
		return nil, nil, err
	}
	temporary = &unpacked{}
	defer func() {
		if err != nil {
			err = errors.Join(err, temporary.Close())
		}
	}()
	markReplaced(opt, files, sources)
	for _, file := range files {
		for _, message := range file.TakeWarnings() {
			opt.Warn(message)
		}
	}
	if err = checkWindows(opt, files, windowBytes); err == nil && unpack {
		temporary, err = unpackInputs(ctx, opt, meter, files)
	}
	if err == nil {
		in, err = engine.NewInput(files, meter, engine.InputOptions{
			Reverse: opt.Reverse, Sum: opt.Verify, Wrap: opt.faults.wrapDataset, Remake: opt.remake(), Slice: opt.slice(ctx),
		})
	}
	if err != nil {
		for _, file := range files {
			err = errors.Join(err, file.Close())
		}
	}
	return in, temporary, err
}

// factsOf is what is known of a run without reading any records.
func factsOf(opt *Options, in *engine.Input) *plan.Facts {
	f := &plan.Facts{
		Keyer: in.Keyer, Records: in.Data.Records(), Seekable: in.Seekable(),
		Remote: in.Remote() || opt.faults.remote, InPlace: in.Overwritten() != nil,
		Asked: plan.Asked{
			Strategy: opt.Strategy, Unique: opt.Unique || opt.Duplicates, Limit: opt.Limit,
			Beside: opt.beside(in), Remade: opt.remake() != nil, ReadSize: in.ReadSize(),
			MemoryBytes: opt.MemoryBytes, Workers: opt.Workers,
			BatchSize: opt.BatchSize, SpillCodec: opt.SpillCompress, Algorithm: opt.Algorithm, DigitBits: opt.DigitBits,
			ChunkRecords: opt.faults.chunkRecords, BlockBytes: opt.faults.blockBytes,
		},
		Output: outputOf(opt), Spill: plan.Spill{Folders: opt.TempDirs, Free: -1},
	}
	decoders := decodingOf(opt, in.Files).memory
	for i, file := range in.Files {
		decoder := decoders[i]
		if !file.Seekable() {
			decoder += heldTails * opt.SkipTail
		}
		f.Decoders = append(f.Decoders, decoder)
	}
	return f
}

// gather is factsOf, with a sample of the keys and what is to be known of the machine beside its profile.
func gather(ctx context.Context, opt *Options, run *engine.Run, p *plan.Profile,
	diskOf func(string) plan.Disk) (*plan.Facts, error) {
	in, f := run.Input, factsOf(opt, run.Input)
	var err error
	if f.Sample, err = in.Data.Sample(ctx, in.Keyer, plan.SampleKeys); err != nil {
		return nil, err
	}
	size := in.Keyer.Layout().RecordSize
	f.Sample.Enough = len(f.Sample.Prefixes) >= plan.SampleLimit(plan.SampleKeys, in.ReadSize())/2
	bytes := f.Records * int64(size)
	if bytes >= 0 && bytes < min(plan.SmallBytes, opt.MemoryBytes/2) && f.Asked.ChunkRecords == 0 {
		return f, nil // to ask the machine and the disks takes longer than to sort so little
	}
	f.Memory = systemMemory()
	addFolders(f, opt, run.Store, diskOf)
	if f.Seekable && !f.Remote {
		if s := opt.sources()[0]; s.At == nil && !isOnce(s) { // else it is standard input, or imagined
			f.Disk = diskOf(s.Name)
		}
		if f.ReadRate = opt.faults.readBytes; f.ReadRate == 0 {
			f.ReadRate, f.FromDisk = profile.ReadRate(ctx, in.Files, p.IsDisk)
		}
	}
	return f, nil
}

// addFolders adds what is known of the folders of spill and of that of the output, and how much spill they can hold.
func addFolders(f *plan.Facts, opt *Options, store spill.Store, diskOf func(string) plan.Disk) {
	f.Spill.OnDisk = slices.ContainsFunc(opt.TempDirs, isOnDisk)
	f.Spill.Free = freeForSpill(f, opt, cmp.Or[spill.Store](store, spill.Disk{}))
	f.Output.OnDisk = f.Output.File && isOnDisk(filepath.Dir(opt.Output))
	f.Spill.Disk, f.Output.Disk = diskOf(opt.TempDirs[0]), diskOf(opt.Output)
	shared := func(dir string) bool { d := diskOf(dir); return d.Is(&f.Output.Disk) }
	if f.Spill.Free >= 0 && slices.ContainsFunc(opt.TempDirs, shared) {
		f.Spill.Output = min(f.ReservedBytes(), f.Spill.Free)
		f.Spill.Free -= f.Spill.Output
	}
}

// freeForSpill is the room in the temporary directories. Files in a directory in memory take the memory of the machine,
// so they have no more room than the memory limit leaves of it.
func freeForSpill(f *plan.Facts, opt *Options, store spill.Store) int64 {
	inMemory, onDisk := memoryFolders(opt.TempDirs)
	if len(inMemory) == 0 || f.Memory == 0 {
		return store.Free(opt.TempDirs)
	}
	beside := max(f.Memory-opt.MemoryBytes, 0)
	if free := store.Free(inMemory); free >= 0 {
		beside = min(beside, free)
	}
	if len(onDisk) == 0 {
		return beside
	}
	free := store.Free(onDisk)
	if free < 0 {
		return free
	}
	return free + beside
}

// memoryFolders divides folders into those in memory and those on disks.
func memoryFolders(folders []string) (inMemory, onDisk []string) {
	for _, folder := range folders {
		if isOnDisk(folder) {
			onDisk = append(onDisk, folder)
		} else {
			inMemory = append(inMemory, folder)
		}
	}
	return inMemory, onDisk
}

// warnOfMemoryFolders warns once of temporary directories in memory where the plan may spill.
func warnOfMemoryFolders(opt *Options, p *plan.Plan) {
	inMemory, _ := memoryFolders(opt.TempDirs)
	if p.TempBytes == 0 || len(inMemory) == 0 {
		return
	}
	opt.Warn(fmt.Sprintf("temporary directory %s is in memory (tmpfs): temporary files take memory beyond "+
		"the limit; "+
		"name a directory on a disk with %v", strings.Join(inMemory, ", "), option.TempDirs))
}

// isOnDisk reports whether a folder is on a disk.
var isOnDisk = func(folder string) bool { return !spill.InMemory(folder) }

// outputOf is what the output is, before it is opened.
func outputOf(opt *Options) plan.Output {
	codec, _ := format.ParseCompression(opt.Compress, opt.Output) // openOutput reports what is wrong with it
	o := plan.Output{Codec: codec}
	_, redirected := output.Descriptor(opt.Output)
	switch {
	case opt.toStdout():
		o.PipeBytes = pipe.WriterBytes
	case opt.split() != output.Split{}:
		o.File, o.Set = true, true
	case remote.Is(opt.Output):
		o.Remote = true
	case !redirected:
		info, err := os.Stat(opt.Output)
		o.File = err != nil || info.Mode().IsRegular()
	}
	return o
}

// markReplaced finds the inputs that are also the output, and whether it overwrites them in place: through a
// descriptor, or because it is a disk.
func markReplaced(opt *Options, files []*input.Input, sources []input.Source) {
	_, redirected := output.Descriptor(opt.Output)
	out, err := input.Stat(opt.Stdout)
	if !opt.toStdout() {
		out, err = os.Stat(opt.Output)
	}
	if err != nil {
		return
	}
	inPlace := redirected || opt.toStdout() || !out.Mode().IsRegular()
	for i, opened := range files {
		in, missing := sources[i].Stat(opt.Stdin)
		opened.Replaced = missing == nil && input.SameContent(out, in)
		opened.Overwritten = opened.Replaced && inPlace
	}
}
