//go:build opencl && cgo && linux

package cl

import (
	"fmt"
	"runtime"

	binding "github.com/jgillich/go-opencl/cl"
)

// Buffer is memory of the device. It lives until Release.
type Buffer struct {
	Bytes int64 // its size
	raw   *binding.MemObject
}

// NewBuffer allocates bytes of device memory; 0 counts as 1, since OpenCL has no empty buffers. A driver may put
// the allocation off until first use, and fail then.
func (c *Context) NewBuffer(bytes int64) (*Buffer, error) {
	return c.newBuffer(binding.MemReadWrite, bytes)
}

func (c *Context) newBuffer(flags binding.MemFlag, bytes int64) (*Buffer, error) {
	size := max(bytes, 1)
	raw, err := c.raw.CreateEmptyBuffer(flags, int(size))
	if err != nil {
		return nil, failure(fmt.Sprintf("allocate %d bytes", size), err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Buffer{Bytes: size, raw: raw}, nil
}

// Release gives the memory back, once the commands that use it are done. A nil Buffer may be released, and one
// may be released twice.
func (b *Buffer) Release() {
	if b != nil {
		b.raw.Release()
	}
}

// Pinned is host memory that the device reads and writes by itself while the host does something else: a buffer
// that the driver allocated on the host (CL_MEM_ALLOC_HOST_PTR), mapped for as long as it lives. Making it is slow:
// make few, and keep them.
type Pinned struct {
	Bytes []byte // not to be used after Release

	buffer *Buffer
	mapped *binding.MappedMemObject
	queue  *Queue
}

// NewPinned allocates pinned memory. REQUIRES: q lives longer than it.
func (c *Context) NewPinned(q *Queue, bytes int) (*Pinned, error) {
	buffer, err := c.newBuffer(binding.MemReadWrite|binding.MemAllocHostPtr, int64(bytes))
	if err != nil {
		return nil, err
	}
	flags := binding.MapFlagRead | binding.MapFlagWrite
	mapped, _, err := q.raw.EnqueueMapBuffer(buffer.raw, true, flags, 0, int(buffer.Bytes), nil)
	if err != nil {
		buffer.Release()
		return nil, failure(fmt.Sprintf("pin %d bytes of host memory", bytes), err)
	}
	return &Pinned{Bytes: mapped.ByteSlice()[:bytes], buffer: buffer, mapped: mapped, queue: q}, nil
}

// Release gives the memory back. REQUIRES: no transfer of it is under way. A nil Pinned may be released, and one
// may be released twice.
func (p *Pinned) Release() {
	if p == nil || p.buffer == nil {
		return
	}
	if unmapped, err := p.queue.raw.EnqueueUnmapMemObject(p.buffer.raw, p.mapped, nil); err == nil {
		_ = Wait(&Event{raw: unmapped, op: "unmap"})
	}
	p.buffer.Release()
	p.buffer, p.Bytes = nil, nil
}
