//go:build opencl && cgo && linux

package cl

import (
	"fmt"
	"runtime"
	"sync"

	binding "github.com/jgillich/go-opencl/cl"
)

// Kernel is a function that runs on the device. It may be launched by several goroutines.
type Kernel struct {
	name   string
	raw    *binding.Kernel
	device *Device
	mu     sync.Mutex // from setting the arguments to queueing the launch
}

// Local is an argument: so many bytes of local memory.
type Local int

// Name is the name of the kernel.
func (k *Kernel) Name() string { return k.name }

// Release gives the kernel back.
func (k *Kernel) Release() {
	if k != nil {
		k.raw.Release()
	}
}

// The numbers of the properties, from cl.h.
const (
	kernelWorkGroupSize, kernelLocalMemory = 0x11B0, 0x11B2
	kernelGroupMultiple, kernelPrivate     = 0x11B3, 0x11B4
)

// Usage is what a kernel takes of the device.
type Usage struct {
	MaxGroup      int   // largest work-group that it can run with here
	GroupMultiple int   // work-groups are best a multiple of this
	LocalBytes    int64 // local memory of a work-group
	PrivateBytes  int64 // of a work-item; not 0 on a GPU: registers were spilled, or arrays are indexed by variables
}

// Usage asks the driver what the kernel takes.
func (k *Kernel) Usage() (Usage, error) {
	var u Usage
	var failed error
	ask := func(what uint32) int64 {
		value, err := queryKernel(k.raw, k.device.raw, what)
		if err != nil {
			failed = err
		}
		return int64(value)
	}
	u.MaxGroup, u.GroupMultiple = int(ask(kernelWorkGroupSize)), int(ask(kernelGroupMultiple))
	u.LocalBytes, u.PrivateBytes = ask(kernelLocalMemory), ask(kernelPrivate)
	return u, failure("query kernel "+k.name, failed)
}

// setArgs takes what kernels here take: 8, 32 and 64-bit integers, buffers, and Local. A nil *Buffer is a null pointer.
func (k *Kernel) setArgs(args []any) error {
	for i, arg := range args {
		if err := k.setArg(i, arg); err != nil {
			return failure(fmt.Sprintf("argument %d of kernel %s", i, k.name), err)
		}
	}
	return nil
}

func (k *Kernel) setArg(i int, arg any) error {
	switch v := arg.(type) {
	case *Buffer:
		if v == nil {
			return k.raw.SetArgUnsafe(i, 8, nil)
		}
		return k.raw.SetArgBuffer(i, v.raw)
	case Local:
		return k.raw.SetArgLocal(i, int(v))
	}
	return k.raw.SetArg(i, arg)
}

// Launch sets the arguments and queues the kernel over global work-items in work-groups of local: sized integers
// (uint8, int32, uint32, int64, uint64, float32), *Buffer and Local are what args may be. It returns a nil Event when
// global is 0, having waited for waits. REQUIRES: global is a multiple of local.
func (q *Queue) Launch(k *Kernel, global, local int, args []any, waits ...*Event) (*Event, error) {
	if global == 0 {
		return nil, Wait(waits...)
	}
	if local < 1 || global < 0 || global%local != 0 {
		return nil, failure("launch "+k.name, fmt.Errorf("%d work-items in work-groups of %d", global, local))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.setArgs(args); err != nil {
		return nil, err
	}
	raw, err := q.raw.EnqueueNDRangeKernel(k.raw, nil, []int{global}, []int{local}, rawEvents(waits))
	runtime.KeepAlive(waits)
	runtime.KeepAlive(args)
	return newEvent("kernel "+k.name, raw, err)
}
