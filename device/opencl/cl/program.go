//go:build opencl && cgo && linux

package cl

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	binding "github.com/jgillich/go-opencl/cl"
)

// Defines are macros for a build: each becomes -D name=value.
type Defines map[string]int

// options returns the defines as compiler options. Their order is constant, because drivers cache
// compiled programs by their options.
func (d Defines) options() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		list = append(list, fmt.Sprintf("-D %s=%d", name, d[name]))
	}
	return strings.Join(list, " ")
}

// A Program contains compiled kernels. It is safe for concurrent use.
type Program struct {
	raw     *binding.Program
	mu      sync.Mutex
	kernels map[string]*Kernel
}

// Build compiles source with the defines. If compilation fails, the error wraps ErrBuild and
// contains the first lines of the compiler's log.
func (c *Context) Build(source string, defines Defines) (*Program, error) {
	raw, err := c.raw.CreateProgramWithSource([]string{source})
	if err != nil {
		return nil, failure("make a program", err)
	}
	runtime.SetFinalizer(raw, nil)
	options := defines.options()
	if err := raw.BuildProgram([]*binding.Device{c.Device.raw}, options); err != nil {
		raw.Release()
		return nil, buildFailure(c.Device.Name, options, err)
	}
	return &Program{raw: raw, kernels: map[string]*Kernel{}}, nil
}

// buildFailure extracts the lines of the first errors from the log.
func buildFailure(device, options string, err error) error {
	build, ok := errors.AsType[binding.BuildError](err)
	if ok {
		err = errors.New(firstLines(string(build), 8))
	}
	return failedAs(
		ErrBuild,
		fmt.Sprintf("build kernels for %s (%s)", device, options),
		err,
	)
}

func firstLines(log string, limit int) string {
	var lines []string
	for line := range strings.Lines(strings.TrimRight(log, "\x00")) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < limit {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "the compiler gave no reason"
	}
	return strings.Join(lines, "\n")
}

// Release frees the program and its kernels.
func (p *Program) Release() {
	for _, k := range p.kernels {
		k.raw.Release()
	}
	p.raw.Release()
}

// Kernel returns the kernel with the given name. It creates the kernel at first use.
func (p *Program) Kernel(name string) (*Kernel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.kernels[name]
	if k != nil {
		return k, nil
	}
	raw, err := p.raw.CreateKernel(name)
	if err != nil {
		return nil, failure("make kernel "+name, err)
	}
	runtime.SetFinalizer(raw, nil)
	p.kernels[name] = &Kernel{Name: name, raw: raw}
	return p.kernels[name], nil
}

// A Kernel is a function that runs on the device. Several goroutines may launch it.
type Kernel struct {
	Name string
	raw  *binding.Kernel
	mu   sync.Mutex // held while arguments are set and the launch is queued
}

// Launch sets the arguments and queues the kernel over global work-items, in work-groups of
// local. Each argument is a sized integer (uint8, int32, uint32, int64, uint64), a float32 or a
// *Buffer; a nil *Buffer is a null pointer. If global is 0, Launch waits for waits and returns a
// nil Event. REQUIRES: global is a multiple of local.
func (q *Queue) Launch(
	k *Kernel,
	global, local int,
	args []any,
	waits ...*Event,
) (*Event, error) {
	if global == 0 {
		return nil, Wait(waits...)
	}
	if local < 1 || global < 0 || global%local != 0 {
		return nil, failure(
			"launch "+k.Name,
			fmt.Errorf("%d work-items in work-groups of %d", global, local),
		)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, arg := range args {
		if err := k.setArg(i, arg); err != nil {
			return nil, failure(
				fmt.Sprintf("argument %d of kernel %s", i, k.Name), err,
			)
		}
	}
	raw, err := q.raw.EnqueueNDRangeKernel(
		k.raw,
		nil,
		[]int{global},
		[]int{local},
		rawEvents(waits),
	)
	runtime.KeepAlive(waits)
	runtime.KeepAlive(args)
	return newEvent("kernel "+k.Name, raw, err)
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
