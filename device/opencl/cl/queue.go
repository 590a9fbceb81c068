//go:build opencl && cgo && linux

package cl

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	binding "github.com/jgillich/go-opencl/cl"
)

// Queue runs commands one after the other, in the order in which they were queued, and each after the events that
// it is told to wait for. Its methods are safe for concurrent use.
type Queue struct {
	raw *binding.CommandQueue
}

// Flush hands the queued commands to the device without waiting for them. A command that another queue waits for
// must have been flushed.
func (q *Queue) Flush() error { return failure("flush", flush(q.raw)) }

// Finish waits until all queued commands are done.
func (q *Queue) Finish() error { return failure("finish", q.raw.Finish()) }

// Release gives the queue back. A nil Queue may be released.
func (q *Queue) Release() {
	if q != nil {
		q.raw.Release()
	}
}

// Marker is an event that is complete when all commands before it are.
func (q *Queue) Marker(waits ...*Event) (*Event, error) {
	raw, err := q.raw.EnqueueMarkerWithWaitList(rawEvents(waits))
	runtime.KeepAlive(waits)
	return newEvent("marker", raw, err)
}

// Write copies n bytes of pinned memory to the device. The source must stay as it is until the event is complete.
func (q *Queue) Write(dst *Buffer, dstOffset int64, src *Pinned, srcOffset, n int, waits ...*Event) (*Event, error) {
	return q.write(dst, dstOffset, src.Bytes[srcOffset:srcOffset+n], false, waits)
}

// Upload copies any memory to the device and returns when that is done: for small tables.
func (q *Queue) Upload(dst *Buffer, offset int64, src []byte, waits ...*Event) error {
	_, err := q.write(dst, offset, src, true, waits)
	return err
}

func (q *Queue) write(dst *Buffer, offset int64, src []byte, blocking bool, waits []*Event) (*Event, error) {
	const op = "write to device"
	if err := inside(op, dst, offset, int64(len(src))); err != nil || len(src) == 0 {
		return nil, errors.Join(err, Wait(waits...))
	}
	host := unsafe.Pointer(&src[0])
	raw, err := q.raw.EnqueueWriteBuffer(dst.raw, blocking, int(offset), len(src), host, rawEvents(waits))
	runtime.KeepAlive(waits)
	return newEvent(op, raw, err)
}

// Read copies n bytes from the device to pinned memory, which is not to be looked at before the event is complete.
func (q *Queue) Read(dst *Pinned, dstOffset int, src *Buffer, srcOffset int64, n int, waits ...*Event) (*Event, error) {
	return q.read(dst.Bytes[dstOffset:dstOffset+n], src, srcOffset, false, waits)
}

// Download copies from the device to any memory and returns when that is done: for small tables.
func (q *Queue) Download(dst []byte, src *Buffer, offset int64, waits ...*Event) error {
	_, err := q.read(dst, src, offset, true, waits)
	return err
}

func (q *Queue) read(dst []byte, src *Buffer, offset int64, blocking bool, waits []*Event) (*Event, error) {
	const op = "read from device"
	if err := inside(op, src, offset, int64(len(dst))); err != nil || len(dst) == 0 {
		return nil, errors.Join(err, Wait(waits...))
	}
	host := unsafe.Pointer(&dst[0])
	raw, err := q.raw.EnqueueReadBuffer(src.raw, blocking, int(offset), len(dst), host, rawEvents(waits))
	runtime.KeepAlive(waits)
	return newEvent(op, raw, err)
}

// Copy copies within the device.
func (q *Queue) Copy(dst *Buffer, dstOffset int64, src *Buffer, srcOffset, n int64, waits ...*Event) (*Event, error) {
	if n == 0 {
		return nil, Wait(waits...)
	}
	raw, err := q.raw.EnqueueCopyBuffer(src.raw, dst.raw, int(srcOffset), int(dstOffset), int(n), rawEvents(waits))
	runtime.KeepAlive(waits)
	return newEvent("copy on device", raw, err)
}

// Fill sets n bytes from offset on, both multiples of 4, to copies of word.
func (q *Queue) Fill(dst *Buffer, word uint32, offset, n int64, waits ...*Event) (*Event, error) {
	if n == 0 {
		return nil, Wait(waits...)
	}
	raw, err := q.raw.EnqueueFillBuffer(dst.raw, unsafe.Pointer(&word), 4, int(offset), int(n), rawEvents(waits))
	runtime.KeepAlive(waits)
	return newEvent("fill", raw, err)
}

// inside refuses transfers past the end of a buffer, where some drivers crash.
func inside(op string, b *Buffer, offset, n int64) error {
	if offset < 0 || offset+n > b.size {
		return failure(op, fmt.Errorf("bytes %d to %d of a buffer of %d", offset, offset+n, b.size))
	}
	return nil
}
