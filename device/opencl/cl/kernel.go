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

// Name is the name of the kernel.
func (k *Kernel) Name() string { return k.name }

// Release gives the kernel back. A nil Kernel may be released.
func (k *Kernel) Release() {
	if k != nil {
		k.raw.Release()
	}
}

// LocalBytes asks the driver how much local memory a work-group of the kernel takes.
func (k *Kernel) LocalBytes() (int64, error) {
	bytes, err := kernelLocalBytes(k.raw, k.device.raw)
	return bytes, failure("query kernel "+k.name, err)
}

// Launch sets the arguments and queues the kernel over global work-items in work-groups of local: sized integers
// (uint8, int32, uint32, int64, uint64, float32) and *Buffer are what args may be; a nil *Buffer is a null pointer. It
// returns a nil Event when global is 0, having waited for waits. REQUIRES: global is a multiple of local.
func (q *Queue) Launch(k *Kernel, global, local int, args []any, waits ...*Event) (*Event, error) {
	if global == 0 {
		return nil, Wait(waits...)
	}
	if local < 1 || global < 0 || global%local != 0 {
		return nil, failure("launch "+k.name, fmt.Errorf("%d work-items in work-groups of %d", global, local))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, arg := range args {
		if err := k.setArg(i, arg); err != nil {
			return nil, failure(fmt.Sprintf("argument %d of kernel %s", i, k.name), err)
		}
	}
	raw, err := q.raw.EnqueueNDRangeKernel(k.raw, nil, []int{global}, []int{local}, rawEvents(waits))
	runtime.KeepAlive(waits)
	runtime.KeepAlive(args)
	return newEvent("kernel "+k.name, raw, err)
}

func (k *Kernel) setArg(i int, arg any) error {
	b, ok := arg.(*Buffer)
	switch {
	case !ok:
		return k.raw.SetArg(i, arg)
	case b == nil:
		return k.raw.SetArgUnsafe(i, 8, nil)
	}
	return k.raw.SetArgBuffer(i, b.raw)
}
