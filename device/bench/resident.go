//go:build opencl && cgo && linux

package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/internal/human"
)

// Resident is a Bed on an OpenCL device, with the keys in the device's memory.
type Resident struct {
	info         device.Info
	ctx          *cl.Context
	queue        *cl.Queue
	sorters      map[string]*algo.Sorter
	preparedCase Case // the case that keys belongs to
	keys         *residentKeys
}

// NewResident opens the OpenCL device that info describes.
func NewResident(info device.Info) (*Resident, error) {
	dev, err := opencl.Raw(info.Number)
	if err != nil {
		return nil, err
	}
	ctx, err := cl.NewContext(dev)
	if err != nil {
		return nil, err
	}
	queue, err := ctx.NewQueue()
	if err != nil {
		ctx.Release()
		return nil, err
	}
	return &Resident{
		info:    info,
		ctx:     ctx,
		queue:   queue,
		sorters: map[string]*algo.Sorter{},
	}, nil
}

// Info implements Bed.
func (b *Resident) Info() device.Info { return b.info }

// Close implements Bed.
func (b *Resident) Close() error {
	err := b.queue.Finish()
	b.dropSorters()
	b.keys.release()
	b.queue.Release()
	b.ctx.Release()
	return err
}

// Time implements Bed.
func (b *Resident) Time(ctx context.Context, c Case, runs int) (Timing, error) {
	s, err := b.sorter(c)
	if err != nil {
		return Timing{}, err
	}
	if err := b.prepare(c); err != nil {
		return Timing{}, err
	}
	var timing Timing
	for run := range runs + 1 {
		if err := context.Cause(ctx); err != nil {
			return timing, err
		}
		seconds, err := b.keys.sort(b.queue, s)
		if err == nil && run == 0 {
			err = b.keys.check(b.queue)
		}
		if err != nil {
			return timing, err
		}
		if run > 0 {
			timing.Seconds = append(timing.Seconds, seconds)
		}
	}
	timing.Passes, timing.Kernels = b.keys.data.Passes, b.keys.watch.kernels()
	return timing, nil
}

// mostSorters limits how many sorters stay in memory with their kernels: a search for parameters
// creates hundreds.
const mostSorters = 32

// sorter returns the case's sorter. It creates the sorter unless it exists.
func (b *Resident) sorter(c Case) (*algo.Sorter, error) {
	name := fmt.Sprint(c.Algorithm, c.Params)
	if s := b.sorters[name]; s != nil {
		return s, nil
	}
	if len(b.sorters) == mostSorters {
		b.dropSorters()
	}
	s, err := algo.New(b.ctx, c.Algorithm, c.Params)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCannot, err)
	}
	b.sorters[name] = s
	return s, nil
}

func (b *Resident) dropSorters() {
	for _, s := range b.sorters {
		s.Close()
	}
	clear(b.sorters)
}

// prepare copies the case's keys to the device unless they are there.
func (b *Resident) prepare(c Case) error {
	if b.keys != nil && sameKeys(c, b.preparedCase) {
		return nil
	}
	b.keys.release()
	b.keys = nil
	perKey := 3 * int64(c.Key.WordBytes)
	if c.Key.Values {
		perKey += 3 * 4
	}
	if c.Records*perKey > b.info.MemoryBytes/8*7 ||
		c.Records*int64(c.Key.WordBytes) > b.info.MaxAlloc {
		return fmt.Errorf("%w: %d keys of %s do not fit its memory (%s)", ErrCannot, c.Records, c.Key,
			human.Bytes(b.info.MemoryBytes))
	}
	words, err := deviceWords(c)
	if err != nil {
		return err
	}
	keys, err := newResidentKeys(b.ctx, b.queue, c.Key, words)
	if err != nil {
		return err
	}
	b.keys = keys
	b.preparedCase = c
	return nil
}

// deviceWords returns the keys of a case without values, in native byte order.
func deviceWords(c Case) ([]byte, error) {
	c.Key.Values = false
	words, err := generate(c)
	if err != nil || binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return words, err
	}
	key := wordReader(
		words,
		int64(c.Key.WordBytes),
		c.Key.WordBytes,
		binary.LittleEndian,
	)
	for i := range c.Records {
		at := words[i*int64(c.Key.WordBytes):]
		if c.Key.WordBytes == 8 {
			binary.NativeEndian.PutUint64(at, key(i))
		} else {
			binary.NativeEndian.PutUint32(at, uint32(key(i)))
		}
	}
	return words, nil
}

// A stopwatch reads times from the device's clock by the events of a sort's kernels.
type stopwatch struct {
	names  []string
	events []*cl.Event
}

func (w *stopwatch) add(kernel string, e *cl.Event) {
	w.names, w.events = append(w.names, kernel), append(w.events, e)
}

// kernels returns the seconds of each kernel, summed over its launches. REQUIRES: the launches
// are done.
func (w *stopwatch) kernels() map[string]float64 {
	sums := map[string]float64{}
	for i, e := range w.events {
		if start, end, err := e.Times(); err == nil {
			sums[w.names[i]] += (end - start).Seconds()
		}
	}
	return sums
}

// seconds returns the time from the start of the first kernel to the end of the last one.
// REQUIRES: they are done.
func (w *stopwatch) seconds() (float64, error) {
	var first, last time.Duration
	for i, e := range w.events {
		start, end, err := e.Times()
		if err != nil {
			return 0, err
		}
		if i == 0 || start < first {
			first = start
		}
		last = max(last, end)
	}
	return (last - first).Seconds(), nil
}
