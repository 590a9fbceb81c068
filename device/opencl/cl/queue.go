//go:build opencl && cgo && linux

package cl

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	binding "github.com/jgillich/go-opencl/cl"
)

// A Queue runs commands in the order in which they were queued, each after the events in its wait
// list. Its methods are safe for concurrent use.
type Queue struct {
	raw *binding.CommandQueue
}

// NewQueue creates an in-order queue whose events record times.
func (c *Context) NewQueue() (*Queue, error) {
	raw, err := c.raw.CreateCommandQueue(
		c.Device.raw, binding.CommandQueueProfilingEnable,
	)
	if err != nil {
		return nil, failure("make a command queue", err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Queue{raw: raw}, nil
}

// Finish waits until all queued commands are done.
func (q *Queue) Finish() error {
	return failure("finish", q.raw.Finish())
}

// Release frees the queue. It may be called on nil.
func (q *Queue) Release() {
	if q != nil {
		q.raw.Release()
	}
}

// Wait returns when all commands that were queued are done, with an error if one of them failed.
func (q *Queue) Wait() error {
	raw, err := q.raw.EnqueueMarkerWithWaitList(nil)
	marker, err := newEvent("marker", raw, err)
	if err != nil {
		return err
	}
	return Wait(marker)
}

// Write copies pinned memory, from srcOffset on, to n bytes of the device. The caller must not
// change the source until the event is complete.
func (q *Queue) Write(
	dst *Buffer,
	dstOffset int64,
	src *Pinned,
	srcOffset, n int,
) (*Event, error) {
	return q.write(dst, dstOffset, src.Bytes[srcOffset:srcOffset+n], false)
}

// Upload copies memory of any kind to the beginning of a buffer and waits for it. It is meant for
// small tables.
func (q *Queue) Upload(dst *Buffer, src []byte) error {
	_, err := q.write(dst, 0, src, true)
	return err
}

func (q *Queue) write(
	dst *Buffer,
	offset int64,
	src []byte,
	blocking bool,
) (*Event, error) {
	const op = "write to device"
	if err := inside(op, dst, offset, len(src)); err != nil || len(src) == 0 {
		return nil, err
	}
	raw, err := q.raw.EnqueueWriteBuffer(
		dst.raw,
		blocking,
		int(offset),
		len(src),
		unsafe.Pointer(&src[0]),
		nil,
	)
	return newEvent(op, raw, err)
}

// Read copies n bytes from the device to the beginning of pinned memory. The caller must not
// access them before the event is complete.
func (q *Queue) Read(
	dst *Pinned,
	src *Buffer,
	offset int64,
	n int,
	waits ...*Event,
) (*Event, error) {
	return q.read(dst.Bytes[:n], src, offset, false, waits)
}

// Download copies the beginning of a buffer to memory of any kind and waits for it. It is meant
// for small tables.
func (q *Queue) Download(dst []byte, src *Buffer) error {
	_, err := q.read(dst, src, 0, true, nil)
	return err
}

func (q *Queue) read(
	dst []byte,
	src *Buffer,
	offset int64,
	blocking bool,
	waits []*Event,
) (*Event, error) {
	const op = "read from device"
	if err := inside(op, src, offset, len(dst)); err != nil || len(dst) == 0 {
		return nil, errors.Join(err, Wait(waits...))
	}
	host := unsafe.Pointer(&dst[0])
	raw, err := q.raw.EnqueueReadBuffer(
		src.raw,
		blocking,
		int(offset),
		len(dst),
		host,
		rawEvents(waits),
	)
	runtime.KeepAlive(waits)
	return newEvent(op, raw, err)
}

// Copy copies the first n bytes of a buffer to another.
func (q *Queue) Copy(dst, src *Buffer, n int64) (*Event, error) {
	return q.CopyPart(dst, 0, src, 0, n)
}

// CopyPart copies n bytes of a buffer to another.
func (q *Queue) CopyPart(
	dst *Buffer,
	dstOffset int64,
	src *Buffer,
	srcOffset, n int64,
) (*Event, error) {
	if n == 0 {
		return nil, nil
	}
	raw, err := q.raw.EnqueueCopyBuffer(
		src.raw,
		dst.raw,
		int(srcOffset),
		int(dstOffset),
		int(n),
		nil,
	)
	return newEvent("copy on device", raw, err)
}

// Fill fills a buffer, whose size must be a multiple of 4, with copies of word.
func (q *Queue) Fill(dst *Buffer, word uint32) (*Event, error) {
	raw, err := q.raw.EnqueueFillBuffer(
		dst.raw,
		unsafe.Pointer(&word),
		4,
		0,
		int(dst.Bytes),
		nil,
	)
	return newEvent("fill", raw, err)
}

// inside rejects transfers past the end of a buffer, on which some drivers crash.
func inside(op string, b *Buffer, offset int64, n int) error {
	end := offset + int64(n)
	if offset < 0 || end > b.Bytes {
		return failure(
			op,
			fmt.Errorf(
				"bytes %d to %d of a buffer of %d", offset, end, b.Bytes,
			),
		)
	}
	return nil
}

// An Event is the state of a queued command. A nil Event is complete. Events are the only objects
// that the garbage collector may free.
type Event struct {
	raw *binding.Event
	op  string
}

func newEvent(op string, raw *binding.Event, err error) (*Event, error) {
	if err != nil {
		return nil, failure(op, err)
	}
	return &Event{raw: raw, op: op}, nil
}

// rawEvents drops nil events. It returns nil instead of an empty list, because the binding panics
// on one.
func rawEvents(events []*Event) []*binding.Event {
	var list []*binding.Event
	for _, e := range events {
		if e != nil {
			list = append(list, e.raw)
		}
	}
	return list
}

// failedDependency is the status of an event if its command did not run because a command in its
// wait list failed.
const failedDependency = -14

// Wait waits until all events are complete. It returns the error of the first one that failed.
func Wait(events ...*Event) error {
	list := rawEvents(events)
	if list == nil {
		return nil
	}
	err := binding.WaitForEvents(list)
	runtime.KeepAlive(list)
	if err == nil {
		return nil
	}
	// The call reports only that one of them failed; the event has the reason.
	for _, e := range events {
		if e == nil {
			continue
		}
		status := eventStatus(e.raw)
		if status < 0 &&
			status != failedDependency {
			return failure(e.op, asError(status))
		}
	}
	return failure("wait for the device", err)
}

// Times returns when the command started and ended, on the device's clock. REQUIRES: the event
// was waited for.
func (e *Event) Times() (start, end time.Duration, err error) {
	if e == nil {
		return 0, 0, nil
	}
	from, err := e.raw.GetEventProfilingInfo(binding.ProfilingInfoCommandStart)
	if err != nil {
		return 0, 0, failure("time of "+e.op, err)
	}
	to, err := e.raw.GetEventProfilingInfo(binding.ProfilingInfoCommandEnd)
	runtime.KeepAlive(e)
	return time.Duration(from), time.Duration(to), failure("time of "+e.op, err)
}
