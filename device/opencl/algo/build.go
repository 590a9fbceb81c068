//go:build opencl && cgo && linux

package algo

import (
	"embed"
	"fmt"
	"maps"
	"strings"

	"github.com/extsort/extsort/device/opencl/cl"
)

//go:embed kernels/*.cl
var sources embed.FS

// variant is what a program is built for: the types of the data.
type variant struct {
	wordBytes int
	values    bool
	wide      bool // positions have 64 bits
}

func variantOf(d *Data, alwaysWide bool) variant {
	return variant{wordBytes: d.WordBytes, values: d.Values != nil, wide: alwaysWide || d.N >= wideFrom}
}

func (v variant) defines() cl.Defines {
	return cl.Defines{"WORD_BYTES": v.wordBytes, "HAS_VALUES": asFlag(v.values), "WIDE": asFlag(v.wide)}
}

// offsetBytes is the size of offset_t.
func (v variant) offsetBytes() int64 {
	if v.wide {
		return 8
	}
	return 4
}

func asFlag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// builder builds programs for one variant on one device. The first error sticks: what is built after it is nil, and
// err tells.
type builder struct {
	ctx *cl.Context
	v   variant
	err error

	programs []*cl.Program
	kernels  []*cl.Kernel
}

// geometry is the shape of a kernel's work-groups: from it come both the defines and the launch.
type geometry struct {
	groupSize int
	items     int
	digitBits int
}

func (g geometry) tile() int64 { return int64(g.groupSize) * int64(g.items) }

func (g geometry) radix() int64 { return 1 << g.digitBits }

func (g geometry) defines() cl.Defines {
	return cl.Defines{"GROUP_SIZE": g.groupSize, "ITEMS": g.items, "DIGIT_BITS": g.digitBits}
}

// groupsFor is the number of tiles, the last perhaps not full.
func (g geometry) groupsFor(n int64) int64 { return (n + g.tile() - 1) / g.tile() }

// program builds prelude.cl and the named files as one.
func (b *builder) program(g geometry, more cl.Defines, files ...string) *program {
	if b.err != nil {
		return &program{b: b}
	}
	defines := b.v.defines()
	maps.Copy(defines, g.defines())
	maps.Copy(defines, more)
	var source strings.Builder
	for _, name := range append([]string{"prelude"}, files...) {
		text, err := sources.ReadFile("kernels/" + name + ".cl")
		if err != nil {
			b.err = err
		}
		source.Write(text)
	}
	built, err := b.ctx.Build(source.String(), defines)
	if err != nil {
		b.err = fmt.Errorf("%s.cl: %w", files[len(files)-1], err)
		return &program{b: b}
	}
	b.programs = append(b.programs, built)
	return &program{b: b, built: built}
}

// program is a built program whose kernels belong to a builder.
type program struct {
	b     *builder
	built *cl.Program
}

func (p *program) kernel(name string) *cl.Kernel {
	if p.b.err != nil {
		return nil
	}
	k, err := p.built.Kernel(name)
	if err != nil {
		p.b.err = err
		return nil
	}
	p.b.kernels = append(p.b.kernels, k)
	return k
}

// release gives back all that was built.
func (b *builder) release() {
	for _, k := range b.kernels {
		k.Release()
	}
	for _, p := range b.programs {
		p.Release()
	}
	b.kernels, b.programs = nil, nil
}
