package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
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

// checkWindows reports an input that looks back further than windowBytes, and the limit with which it could.
func checkWindows(opt *Options, files []*input.Input, windowBytes int64) error {
	for _, in := range files {
		if in.Window <= windowBytes {
			continue
		}
		text := fmt.Sprintf("input %s needs a window of more than %d MiB: decompress it first, or raise %v",
			in.Name, windowBytes>>20, option.MemoryBytes)
		e := &MemoryError{Limit: opt.MemoryBytes, Text: text}
		if in.Window < math.MaxInt64/(2*windowsPart) {
			e.Least = windowsPart * in.Window
			e.Text += fmt.Sprintf(" to at least %d MiB", (e.Least-1)>>20+1)
		}
		return e
	}
	return nil
}

// decoding says how compressed inputs are read within the memory limit.
type decoding struct {
	lean   bool           // decompressors take as little memory as they can
	unpack []*input.Input // do not fit all the same, and are decompressed to temporary files first, one after another
	memory []int64        // of the decompressor of each input while records are sorted or merged
}

// decodingOf decides how compressed inputs are read. A sort reads them one after another, so each decompressor has to
// fit its share of the memory; a merge has all of them open at once. Decompressors that need little stay open.
func decodingOf(opt *Options, files []*input.Input) decoding {
	share := plan.DecoderShare(opt.MemoryBytes)
	together := opt.merge != nil
	d := decoding{memory: make([]int64, len(files))}
	leanMemory := make([]int64, len(files))
	order := make([]int, len(files))
	for i, in := range files {
		d.memory[i], leanMemory[i] = in.DecoderMemory()
		order[i] = i
	}
	if held(d.memory, together) <= share {
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
		} else if together {
			sum += memory
		}
	}
	return d
}

// held returns how much memory decompressors hold at a time.
func held(memory []int64, together bool) (bytes int64) {
	for _, one := range memory {
		if together {
			bytes += one
		} else {
			bytes = max(bytes, one)
		}
	}
	return bytes
}

// unpacked is the temporary files that inputs were decompressed to.
type unpacked struct {
	files   []unpackedFile // one in each folder that was needed
	bytes   int64
	seconds float64 // that it took
}

// Close gives the space of the files back.
func (u *unpacked) Close() error {
	var errs []error
	for _, file := range u.files {
		errs = append(errs, file.Close())
	}
	u.files = nil
	return errors.Join(errs...)
}

// unpackedFile is a temporary file that inputs are decompressed to. It reports the bytes that are written.
type unpackedFile struct {
	spill.File
	folder   string
	progress Progress // nil: it is not reported
}

// WriteAt writes decompressed records. Its error says which directory has no room.
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
			"(name another with %v, or raise %v): %w", f.folder, how, option.TempDirs, option.MemoryBytes, err)
	}
	return n, fmt.Errorf("temporary directory %s: write at byte %d: %w", f.folder, off, err)
}

// unpackBase is the memory of a run besides the decompressor while it decompresses an input to a temporary file.
const unpackBase = 11 << 19

// unpackInputs has decompressors fit the memory limit: lean ones where that is enough, and else it decompresses inputs
// to temporary files, by one decompressor at a time.
func unpackInputs(ctx context.Context, opt *Options, meter *engine.Meter, files []*input.Input) (*unpacked, error) {
	d := decodingOf(opt, files)
	u := &unpacked{}
	if d.lean {
		input.Economize(files)
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
	debug.FreeOSMemory() // chunks lie outside of Go's heap
	return u, err
}

// storedPart is the part of compressed bytes that decompressed ones have at least: incompressible data grow a little.
const storedPart = 0.98

// canUnpack returns an error where memory or temporary directories are too small to decompress inputs. How many bytes
// they have is not known before, but hardly fewer than they have now.
func canUnpack(opt *Options, store spill.Store, files []*input.Input) error {
	stored := int64(0)
	for _, in := range files {
		stored += in.StoredBytes()
		_, lean := in.DecoderMemory()
		if least := lean + unpackBase; least > opt.MemoryBytes {
			text := fmt.Sprintf("too little to decompress %v input %s: decompress it first, or raise %v, to %d MiB "+
				"at least", in.Compression, in.Name, option.MemoryBytes, (least-1)>>20+1)
			return &MemoryError{Limit: opt.MemoryBytes, Least: least, Text: text}
		}
	}
	least := int64(storedPart * float64(stored))
	if free := store.Free(opt.TempDirs); free >= 0 && least > free {
		return plan.NoRoom(opt.TempDirs, least, free, 0, false)
	}
	return nil
}

// unpack decompresses inputs one after another, to the folders in turn.
func (u *unpacked) unpack(ctx context.Context, opt *Options, store spill.Store, files []*input.Input) error {
	ends := make([]int64, len(opt.TempDirs))
	for i, in := range files {
		volume := i % len(opt.TempDirs)
		if volume == len(u.files) {
			folder := opt.TempDirs[volume]
			file, err := store.Create(folder)
			if err != nil {
				return fmt.Errorf("temporary directory %s: %w", folder, device.WithoutPath(err))
			}
			u.files = append(u.files, unpackedFile{File: file, folder: folder, progress: opt.Progress})
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

// muchGarbage is a heap that a decompressor may leave behind, and the next must not add to.
const muchGarbage = 3 << 20

// freeGarbage collects the memory of closed decompressors, for the next one. A pool keeps its buffers for one more
// collection.
func freeGarbage() {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	if heap.HeapInuse > muchGarbage {
		runtime.GC()
		runtime.GC()
	}
}
