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

// openDevice is a device in use, with the state that its chunks share.
type openDevice struct {
	number int // Info.Number in the list of Devices
	opt    Options
	dev    *cl.Device

	start func() (*session, error) // creates the session at first use

	mu                 sync.Mutex
	opened             *session
	linkRate, sortRate float64 // measured by MeasureRates
}

// session contains the OpenCL objects of a device in use.
type session struct {
	ctx                      *cl.Context
	admin                    *cl.Queue // maps memory; on any other queue, that would wait for transfers
	upload, gather, download *cl.Queue // to the device, kernels of Store, from the device
	// Sorting; a sorter, with its scratch memory, needs a queue of its own.
	kernels *cl.Queue

	radix func() string // returns the best radix sort if nothing was measured

	mu       sync.Mutex
	programs map[string]*cl.Program  // by their defines
	sorters  map[string]*algo.Sorter // by name and parameters

	sorting sync.Mutex // held while a chunk is sorted: sorting two at once is not faster
}

func (s *session) queues() []**cl.Queue {
	return []**cl.Queue{&s.admin, &s.upload, &s.gather, &s.download, &s.kernels}
}

// getOrCreate returns the value of a key. It creates the value at first use; concurrent callers
// wait for it.
func getOrCreate[T any](
	s *session,
	values map[string]T,
	key string,
	make func() (T, error),
) (T, error) {
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
	dev.MemoryBytes = min(
		cmp.Or(opt.MemoryBytes, dev.MemoryBytes), dev.MemoryBytes,
	)
	opt.Index = cmp.Or(opt.Index, number)
	e := &openDevice{
		number: number,
		opt:    opt,
		dev:    dev,
	}
	e.start = sync.OnceValues(e.begin)
	return e, nil
}

func (d *openDevice) begin() (*session, error) {
	ctx, err := cl.NewContext(d.dev)
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
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = s
	return s, nil
}

func (d *openDevice) Info() device.Info {
	info := infoOf(d.number, d.dev, d.opt.Tuning)
	info.Index = d.opt.Index
	d.mu.Lock()
	defer d.mu.Unlock()
	info.LinkRate = max(info.LinkRate, d.linkRate)
	info.SortRate = max(info.SortRate, d.sortRate)
	return info
}

// Capabilities implements device.Device. A chunk has no capabilities, because its records are in
// device memory.
func (d *openDevice) Capabilities(device.ChunkOptions) device.Capabilities {
	return device.Capabilities{}
}

func (d *openDevice) BlockBytes(opt device.ChunkOptions, _ int64) int {
	return opt.BlockBytes
}

// MaxRecords implements device.Device. It returns the capacity of a chunk that has the device to
// itself. For k chunks at a time, divide it by k.
func (d *openDevice) MaxRecords(
	opt device.ChunkOptions, memoryBytes int64,
) int64 {
	shape := shapeOf(opt.Keyer)
	if d.stagingBytes(memoryBytes) < fewestSlots*int64(shape.recordBytes) {
		return 0
	}
	memory := d.usableBytes(memoryBytes)
	stage := shape.stageBytes(memory)
	memory -= min(memory/scratchShare, scratchAtMost)
	if !shape.isBare {
		memory -= stages * stage
	}
	return max(shape.capacity(memory, d.dev.MaxAllocBytes), 0)
}

// usableBytes returns how much device memory a chunk may use. hostBytes is its limit for host
// memory; 0: none.
func (d *openDevice) usableBytes(hostBytes int64) int64 {
	if !d.dev.UnifiedMemory || hostBytes == 0 {
		return d.dev.MemoryBytes
	}
	return min(d.dev.MemoryBytes, hostBytes-d.stagingBytes(hostBytes))
}

// stagingBytes returns how much host memory a chunk uses for staging slots. hostBytes is its
// limit for host memory, which includes device memory if that is unified.
func (d *openDevice) stagingBytes(hostBytes int64) int64 {
	if d.dev.UnifiedMemory {
		return hostBytes / unifiedStagingShare
	}
	return hostBytes
}

func (d *openDevice) NewChunk(
	_ context.Context, opt device.ChunkOptions,
) (device.Chunk, error) {
	if opt.Keyer == nil || opt.Records < 0 {
		return nil, fmt.Errorf(
			"OpenCL chunk: %d records, keyer %v", opt.Records, opt.Keyer,
		)
	}
	if opt.Keyer.Layout().MovesNaNs() {
		return nil, errors.New(
			"OpenCL chunk: the kernels sort floats in total order only",
		)
	}
	if opt.Keyer.Layout().HasDecimals() {
		return nil, errors.New(
			"OpenCL chunk: the kernels do not compare zoned and packed decimal numbers",
		)
	}
	opt.Algorithm, opt.Workers = cmp.Or(
		opt.Algorithm, d.opt.Algorithm,
	), cmp.Or(opt.Workers, runtime.GOMAXPROCS(0))
	if err := algo.Check(opt.Algorithm, d.opt.DigitBits); err != nil {
		return nil, err
	}
	go func() { // the driver takes a while to start, so the caller can open its files meanwhile
		_ = safely.Call(func() error {
			_, err := d.start()
			return err // start returns the same error to all other callers
		})
	}()
	return &chunk{
		device: d,
		opt:    opt,
		shape:  shapeOf(opt.Keyer),
	}, nil
}

// Close implements device.Device. REQUIRES: all chunks are closed.
func (d *openDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opened != nil {
		d.opened.close()
		d.opened = nil
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
