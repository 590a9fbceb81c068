//go:build opencl && cgo && linux

package cl

import (
	"runtime"

	binding "github.com/jgillich/go-opencl/cl"
)

// Context holds the objects of one device. Its methods are safe for concurrent use.
type Context struct {
	device *Device
	raw    *binding.Context
}

// NewContext opens a device.
func NewContext(d *Device) (*Context, error) {
	raw, err := binding.CreateContext([]*binding.Device{d.raw})
	if err != nil {
		return nil, failure("open "+d.Name, err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Context{device: d, raw: raw}, nil
}

// Device is the context's device.
func (c *Context) Device() *Device { return c.device }

// Release gives the context back. REQUIRES: all that was made in it is released, or not used any more.
func (c *Context) Release() { c.raw.Release() }

// NewQueue makes an in-order queue whose events can be asked for times.
func (c *Context) NewQueue() (*Queue, error) {
	raw, err := c.raw.CreateCommandQueue(c.device.raw, binding.CommandQueueProfilingEnable)
	if err != nil {
		return nil, failure("make a command queue", err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Queue{raw: raw}, nil
}
