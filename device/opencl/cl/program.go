//go:build opencl && cgo && linux

package cl

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	binding "github.com/jgillich/go-opencl/cl"
)

// Defines are macros for a build: -D name=value for each.
type Defines map[string]int

// options spells the defines in an order that does not change, since the cache goes by it.
func (d Defines) options() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d)) {
		fmt.Fprintf(&b, "-D %s=%d ", name, d[name])
	}
	return strings.TrimSpace(b.String())
}

// Program is built kernels.
type Program struct {
	context *Context
	raw     *binding.Program
}

// Build compiles source with the defines, or takes the compiled program from the cache where an earlier run left
// it. The error of a build that fails wraps ErrBuild and holds the first lines of the compiler's log.
func (c *Context) Build(source string, defines Defines) (*Program, error) {
	options := defines.options()
	entry := cacheEntry(&c.device.Properties, options, source)
	if compiled := readCache(entry); compiled != nil {
		raw, err := programFromBinary(c.raw, c.device.raw, compiled, options)
		if err == nil { // else the driver changed under the same name
			return &Program{context: c, raw: raw}, nil
		}
	}
	raw, err := c.compile(source, options)
	if err == nil && entry != "" {
		if binary, err := programBinary(raw); err == nil {
			writeCache(entry, binary)
		}
	}
	return &Program{context: c, raw: raw}, err
}

func (c *Context) compile(source, options string) (*binding.Program, error) {
	raw, err := c.raw.CreateProgramWithSource([]string{source})
	if err != nil {
		return nil, failure("make a program", err)
	}
	runtime.SetFinalizer(raw, nil)
	if err := raw.BuildProgram([]*binding.Device{c.device.raw}, options); err != nil {
		raw.Release()
		return nil, buildFailure(c.device.Name, options, err)
	}
	return raw, nil
}

// buildFailure keeps of the log what helps: the lines of the first errors.
func buildFailure(device, options string, err error) error {
	var build binding.BuildError
	if errors.As(err, &build) {
		err = errors.New(firstLines(string(build), 8))
	}
	return &Error{Op: fmt.Sprintf("build kernels for %s (%s)", device, options), Kind: ErrBuild, Err: err}
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

// Release gives the program back. Its kernels stay.
func (p *Program) Release() { p.raw.Release() }

// Kernel makes the kernel of that name.
func (p *Program) Kernel(name string) (*Kernel, error) {
	raw, err := p.raw.CreateKernel(name)
	if err != nil {
		return nil, failure("make kernel "+name, err)
	}
	runtime.SetFinalizer(raw, nil)
	return &Kernel{name: name, raw: raw, device: p.context.device}, nil
}
