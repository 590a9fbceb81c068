//go:build opencl && cgo && linux

package cl

import (
	"fmt"
	"runtime"

	binding "github.com/jgillich/go-opencl/cl"
)

// A Buffer is memory on the device. It lives until Release.
type Buffer struct {
	Bytes int64 // size in bytes
	raw   *binding.MemObject
}

// NewBuffer allocates bytes of device memory. OpenCL has no empty buffers, so 0 is treated as 1.
// A driver may defer the allocation until first use and fail then.
func (c *Context) NewBuffer(bytes int64) (*Buffer, error) {
	return c.newBuffer(binding.MemReadWrite, bytes)
}

func (c *Context) newBuffer(
	flags binding.MemFlag, bytes int64,
) (*Buffer, error) {
	size := max(bytes, 1)
	raw, err := c.raw.CreateEmptyBuffer(flags, int(size))
	if err != nil {
		return nil, failure(fmt.Sprintf("allocate %d bytes", size), err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Buffer{Bytes: size, raw: raw}, nil
}

// Release frees the memory as soon as all commands that use it are done. It may be called twice,
// and on nil.
func (b *Buffer) Release() {
	if b != nil {
		b.raw.Release()
	}
}

// Pinned is host memory that the device reads and writes by itself while the host does something
// else. It is a buffer that the driver allocated on the host (CL_MEM_ALLOC_HOST_PTR) and that
// stays mapped. It is slow to allocate, so reuse it.
type Pinned struct {
	Bytes []byte // invalid after Release

	buffer *Buffer
	mapped *binding.MappedMemObject
	queue  *Queue
}

// NewPinned allocates pinned memory. REQUIRES: q lives longer than it.
func (c *Context) NewPinned(q *Queue, bytes int) (*Pinned, error) {
	buffer, err := c.newBuffer(
		binding.MemReadWrite|binding.MemAllocHostPtr, int64(bytes),
	)
	if err != nil {
		return nil, err
	}
	flags := binding.MapFlagRead | binding.MapFlagWrite
	mapped, _, err := q.raw.EnqueueMapBuffer(
		buffer.raw,
		true,
		flags,
		0,
		int(buffer.Bytes),
		nil,
	)
	if err != nil {
		buffer.Release()
		return nil, failure(
			fmt.Sprintf("pin %d bytes of host memory", bytes), err,
		)
	}
	return &Pinned{
		Bytes:  mapped.ByteSlice()[:bytes],
		buffer: buffer,
		mapped: mapped,
		queue:  q,
	}, nil
}

// Release frees the memory. It may be called twice, and on nil. REQUIRES: no transfer uses the
// memory.
func (p *Pinned) Release() {
	if p == nil || p.buffer == nil {
		return
	}
	if unmapped, err := p.queue.raw.EnqueueUnmapMemObject(p.buffer.raw, p.mapped, nil); err == nil {
		_ = Wait(&Event{raw: unmapped, op: "unmap"})
	}
	p.buffer.Release()
	p.buffer = nil
	p.Bytes = nil
}
