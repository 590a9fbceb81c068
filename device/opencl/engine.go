//go:build opencl && cgo && linux

package opencl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/internal/safely"
)

// engine is an open device, with the state that its chunks share.
type engine struct {
	number int // Info.Number in the list of Devices
	opt    Options
	dev    *cl.Device

	start func() (*session, error) // creates the session at first use

	mu         sync.Mutex
	opened     *session
	link, sort float64 // measured by MeasureRates
}

// session contains the OpenCL objects of a device in use.
type session struct {
	ctx                  *cl.Context
	admin                *cl.Queue // maps memory; on any other queue, that would wait for transfers
	upload, gather, down *cl.Queue // to the device, kernels of Store, from the device
	// Sorting; a sorter, with its scratch memory, needs a queue of its own.
	kernels *cl.Queue

	radix func() string // returns the best radix sort if nothing was measured

	mu       sync.Mutex
	programs map[string]*cl.Program  // by their defines
	sorters  map[string]*algo.Sorter // by name and parameters

	sorting sync.Mutex // held while a chunk is sorted: sorting two at once is not faster
}

func (s *session) queues() []**cl.Queue {
	return []**cl.Queue{&s.admin, &s.upload, &s.gather, &s.down, &s.kernels}
}

// made returns the value of a key. It creates the value at first use; concurrent callers wait for
// it.
func made[T any](s *session, values map[string]T, key string, make func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value, ok := values[key]; ok {
		return value, nil
	}
	value, err := make()
	if err == nil {
		values[key] = value
	}
	return value, err
}

// Open opens the device with this Info.Number in the list of Devices. That costs nothing yet: the
// first chunk creates the driver's context, and the kernels are built while it is loaded.
func Open(number int, opt Options) (device.Device, error) {
	if err := algo.Check(opt.Algorithm, opt.DigitBits); err != nil {
		return nil, err
	}
	dev, err := Raw(number)
	if err != nil {
		return nil, err
	}
	opt.Tuning = cmp.Or(opt.Tuning, &Tuning{})
	dev.MemoryBytes = min(cmp.Or(opt.MemoryBytes, dev.MemoryBytes), dev.MemoryBytes)
	opt.Index = cmp.Or(opt.Index, number)
	e := &engine{number: number, opt: opt, dev: dev}
	e.start = sync.OnceValues(e.begin)
	return e, nil
}

func (e *engine) begin() (*session, error) {
	ctx, err := cl.NewContext(e.dev)
	if err != nil {
		return nil, err
	}
	s := &session{ctx: ctx, programs: map[string]*cl.Program{}, sorters: map[string]*algo.Sorter{},
		radix: sync.OnceValue(func() string { return bestRadix(ctx) })}
	for _, q := range s.queues() {
		if *q, err = ctx.NewQueue(); err != nil {
			s.close()
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = s
	return s, nil
}

func (e *engine) Info() device.Info {
	info := infoOf(e.number, e.dev, e.opt.Tuning)
	info.Index = e.opt.Index
	e.mu.Lock()
	defer e.mu.Unlock()
	info.LinkRate, info.SortRate = max(info.LinkRate, e.link), max(info.SortRate, e.sort)
	return info
}

// Capabilities implements device.Device. A chunk has no capabilities, because its records are in
// device memory.
func (e *engine) Capabilities(device.ChunkOptions) device.Capabilities { return device.Capabilities{} }

func (e *engine) BlockBytes(opt device.ChunkOptions, _ int64) int { return opt.BlockBytes }

// MaxRecords implements device.Device. It returns the capacity of a chunk that has the device to
// itself. For k chunks at a time, divide it by k.
func (e *engine) MaxRecords(opt device.ChunkOptions, memoryBytes int64) int64 {
	shape := shapeOf(opt.Keyer)
	if e.stagingBytes(memoryBytes) < fewestSlots*int64(shape.size) {
		return 0
	}
	memory := e.usableBytes(memoryBytes)
	stage := shape.stageBytes(memory)
	memory -= min(memory/scratchShare, scratchAtMost)
	if !shape.bare {
		memory -= stages * stage
	}
	return max(shape.capacity(memory, e.dev.MaxAllocBytes), 0)
}

// usableBytes returns how much device memory a chunk may use. hostBytes is its limit for host
// memory; 0: none.
func (e *engine) usableBytes(hostBytes int64) int64 {
	if !e.dev.UnifiedMemory || hostBytes == 0 {
		return e.dev.MemoryBytes
	}
	return min(e.dev.MemoryBytes, hostBytes-e.stagingBytes(hostBytes))
}

// stagingBytes returns how much host memory a chunk uses for staging slots. hostBytes is its
// limit for host memory, which includes device memory if that is unified.
func (e *engine) stagingBytes(hostBytes int64) int64 {
	if e.dev.UnifiedMemory {
		return hostBytes / unifiedStagingShare
	}
	return hostBytes
}

func (e *engine) NewChunk(_ context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	if opt.Keyer == nil || opt.Records < 0 {
		return nil, fmt.Errorf("OpenCL chunk: %d records, keyer %v", opt.Records, opt.Keyer)
	}
	if opt.Keyer.Layout().MovesNaNs() {
		return nil, errors.New("OpenCL chunk: the kernels sort floats in total order only")
	}
	if opt.Keyer.Layout().HasDecimals() {
		return nil, errors.New("OpenCL chunk: the kernels do not compare zoned and packed decimal numbers")
	}
	opt.Algorithm, opt.Workers = cmp.Or(opt.Algorithm, e.opt.Algorithm), cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	if err := algo.Check(opt.Algorithm, e.opt.DigitBits); err != nil {
		return nil, err
	}
	go func() { // the driver takes a while to start, so the caller can open its files meanwhile
		_ = safely.Call(func() error {
			_, err := e.start()
			return err // start returns the same error to all other callers
		})
	}()
	return &chunk{engine: e, opt: opt, shape: shapeOf(opt.Keyer)}, nil
}

// Close implements device.Device. REQUIRES: all chunks are closed.
func (e *engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.opened != nil {
		e.opened.close()
		e.opened = nil
	}
	return nil
}

func (s *session) close() {
	for _, sorter := range s.sorters {
		sorter.Close()
	}
	for _, p := range s.programs {
		p.Release()
	}
	for _, q := range s.queues() {
		(*q).Release()
	}
	s.ctx.Release()
}
