package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
)

// A decoding describes how to read compressed inputs within the memory limit.
type decoding struct {
	lean   bool           // the decompressors use as little memory as they can
	unpack []*input.Input // inputs that still do not fit; decompressed to temporary files first
	memory []int64        // memory of each input's decompressor while records are sorted or merged
}

// decodingOf decides how to read compressed inputs. A sort reads them one after another, so each
// decompressor must fit into the decompressors' share of the memory. A merge keeps all of them
// open, so their sum must fit. If it does not, the inputs whose decompressors need the most memory
// are decompressed to temporary files first.
func decodingOf(opt *Options, files []*input.Input) decoding {
	share := plan.DecoderShare(opt.MemoryBytes)
	atOnce := opt.merge != nil
	d := decoding{memory: make([]int64, len(files))}
	leanMemory := make([]int64, len(files))
	order := make([]int, len(files))
	for i, in := range files {
		d.memory[i], leanMemory[i] = in.DecoderMemory()
		order[i] = i
	}
	if heldMemory(d.memory, atOnce) <= share {
		return d
	}
	d.lean = true
	d.memory = leanMemory
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(leanMemory[a], leanMemory[b]) })
	sum := int64(0)
	for _, i := range order {
		memory := d.memory[i]
		if memory > 0 && sum+memory > share {
			d.unpack = append(d.unpack, files[i])
			d.memory[i] = 0
		} else if atOnce {
			sum += memory
		}
	}
	return d
}

// heldMemory returns the memory that the decompressors hold at a time. With atOnce, all of them are
// open together; otherwise, they are open one after another.
func heldMemory(memory []int64, atOnce bool) (bytes int64) {
	for _, one := range memory {
		if atOnce {
			bytes += one
		} else {
			bytes = max(bytes, one)
		}
	}
	return bytes
}

// unpacked contains the temporary files with the decompressed inputs.
type unpacked struct {
	files   []unpackedFile // one in each temporary directory that was needed
	bytes   int64
	seconds float64 // time spent on decompression
}

// Close closes the files, which deletes them.
func (u *unpacked) Close() error {
	var errs []error
	for _, file := range u.files {
		errs = append(errs, file.Close())
	}
	u.files = nil
	return errors.Join(errs...)
}

// unpackedFile is a temporary file that contains decompressed inputs.
type unpackedFile struct {
	spill.File
	dir      string
	progress Progress // receives the number of bytes written; may be nil
}

// WriteAt writes decompressed records. An error names the directory.
func (f unpackedFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	if err == nil {
		if f.progress != nil {
			f.progress.Add(int64(n))
		}
		return n, nil
	}
	err = device.WithoutPath(err)
	if how := spill.OutOfRoom(err); how != "" {
		return n, fmt.Errorf("temporary directory %s %s: inputs are decompressed there first "+
			"(name another with %v, or raise %v): %w", f.dir, how, option.TempDirs, option.MemoryBytes, err)
	}
	return n, fmt.Errorf("temporary directory %s: write at byte %d: %w", f.dir, off, err)
}

// unpackBase is the memory that a run needs in addition to the decompressor while it decompresses
// an input to a temporary file.
const unpackBase = 11 << 19

// unpackInputs makes the decompressors fit the memory limit. It uses lean decompressors if these
// suffice. Otherwise it decompresses inputs to temporary files, with one decompressor at a time.
func unpackInputs(ctx context.Context, opt *Options, meter *engine.Meter, files []*input.Input) (*unpacked, error) {
	d := decodingOf(opt, files)
	u := &unpacked{}
	if d.lean {
		input.ReduceMemory(files)
	}
	if len(d.unpack) == 0 {
		return u, nil
	}
	store := cmp.Or[spill.Store](opt.faults.spillStore, spill.Disk{})
	if err := canUnpack(opt, store, d.unpack); err != nil {
		return u, err
	}

	start := time.Now()
	if opt.Progress != nil {
		opt.Progress.Begin(plan.StageUnpack, -1)
		defer opt.Progress.End()
	}
	err := u.unpack(ctx, opt, store, d.unpack)
	u.seconds = time.Since(start).Seconds()
	meter.Note(plan.StageUnpack, u.seconds)
	debug.FreeOSMemory() // chunks are allocated outside of Go's heap
	return u, err
}

// leastGrowth is the assumed minimum of decompressed bytes per compressed byte. It is below 1
// because compressing random data makes it slightly larger.
const leastGrowth = 0.98

// canUnpack returns an error if the memory limit or the temporary directories are too small to
// decompress inputs. The decompressed size is not known in advance, but it is hardly smaller than
// the compressed size.
func canUnpack(opt *Options, store spill.Store, files []*input.Input) error {
	stored := int64(0)
	for _, in := range files {
		stored += in.StoredBytes()
		_, lean := in.DecoderMemory()
		if least := lean + unpackBase; least > opt.MemoryBytes {
			text := fmt.Sprintf("too little to decompress %v input %s: decompress it first, or raise %v to at least %d MiB",
				in.Compression, in.Name, option.MemoryBytes, (least-1)>>20+1)
			return &MemoryError{Limit: opt.MemoryBytes, Least: least, Text: text}
		}
	}
	least := int64(leastGrowth * float64(stored))
	if free := store.Free(opt.TempDirs); free >= 0 && least > free {
		return plan.NewRoomError(opt.TempDirs, least, free, 0, false)
	}
	return nil
}

// unpack decompresses inputs one after another, to the temporary directories in turn.
func (u *unpacked) unpack(ctx context.Context, opt *Options, store spill.Store, files []*input.Input) error {
	ends := make([]int64, len(opt.TempDirs))
	for i, in := range files {
		volume := i % len(opt.TempDirs)
		if volume == len(u.files) {
			dir := opt.TempDirs[volume]
			file, err := store.Create(dir)
			if err != nil {
				return fmt.Errorf("temporary directory %s: %w", dir, device.WithoutPath(err))
			}
			u.files = append(u.files, unpackedFile{File: file, dir: dir, progress: opt.Progress})
		}
		bytes, err := input.Unpack(ctx, in, u.files[volume], ends[volume])
		if err != nil {
			return err
		}
		ends[volume] += bytes
		u.bytes += bytes
		freeGarbage()
	}
	return nil
}

// muchGarbage is the heap size above which the garbage of a decompressor is collected before the
// next one starts.
const muchGarbage = 3 << 20

// freeGarbage collects the memory of closed decompressors. It collects twice, because a sync.Pool
// keeps its buffers for one more collection.
func freeGarbage() {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	if heap.HeapInuse > muchGarbage {
		runtime.GC()
		runtime.GC()
	}
}
