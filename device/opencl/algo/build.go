//go:build opencl && cgo && linux

package algo

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/extsort/extsort/device/opencl/cl"
)

//go:embed kernels/*.cl
var sources embed.FS

// Fingerprint identifies this set of kernels. Measurements made with other kernels are invalid.
func Fingerprint() string {
	h := sha256.New()
	names, _ := fs.Glob(sources, "kernels/*.cl") // reading an embedded file cannot fail
	for _, name := range names {
		text, _ := sources.ReadFile(name)
		h.Write([]byte(name))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// A variant is the types of the data that a program is built for.
type variant struct {
	wordBytes int
	values    bool
	wide      bool // positions have 64 bits
}

// wideFrom is the number of keys from which positions have 64 bits: below it, 32 bits have room
// for a position and the two flags of onesweep.
const wideFrom = 1 << 30

func variantOf(d *Data, alwaysWide bool) variant {
	return variant{
		wordBytes: d.WordBytes,
		values:    d.Values != nil,
		wide:      alwaysWide || d.N >= wideFrom,
	}
}

// offsetBytes returns the size of offset_t.
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

// A geometry is the shape of a kernel's work-groups. Both the defines and the launch are derived
// from it.
type geometry struct {
	groupSize int
	items     int
	digitBits int
}

func (g geometry) tile() int64 {
	return int64(g.groupSize) * int64(g.items)
}

func (g geometry) bits() int { return g.digitBits }

func (g geometry) radix() int64 { return 1 << g.digitBits }

// groupsFor returns the number of tiles, including a partial last one.
func (g geometry) groupsFor(n int64) int64 {
	return (n + g.tile() - 1) / g.tile()
}

// withDigit sets the digit width: p.DigitBits, or the width for which the cost model predicts the
// fewest bytes moved.
func (g geometry) withDigit(p Params, v variant, widths []int) geometry {
	if g.digitBits = p.DigitBits; p.DigitBits == 0 {
		t := tiling{v.wordBytes + 4*asFlag(v.values), 8 * v.wordBytes, g.items * g.groupSize}
		g.digitBits = t.bestDigitBits(widths)
	}
	return g
}

// limits are conditions under which kernels can be built.
type limits struct {
	digitBits     int   // work-groups must be a multiple of it
	groupMultiple int   // minimum size of a work-group
	minGroupSize  int64 // used by a work-group
	localBytes    int64
}

// checkDevice returns an error if kernels of this shape cannot run on a device.
func (g geometry) checkDevice(dev *cl.Device, l limits) error {
	switch {
	case g.digitBits < 1 || g.digitBits > l.digitBits:
		return fmt.Errorf(
			"digits of %d bits: use 1 to %d", g.digitBits, l.digitBits,
		)
	case g.items < 1 || g.items > 64:
		return fmt.Errorf("%d keys per work-item: use 1 to 64", g.items)
	case g.groupSize%l.groupMultiple != 0 ||
		int64(g.groupSize) < max(l.minGroupSize, 1) ||
		g.groupSize > dev.MaxGroup:
		return fmt.Errorf("work-groups of %d: use a multiple of %d from %d to %d",
			g.groupSize, l.groupMultiple, max(l.minGroupSize, 1), dev.MaxGroup)
	case l.localBytes > dev.LocalBytes:
		return fmt.Errorf("%d work-items with %d keys: need %d bytes of local memory, of which there are %d",
			g.groupSize, g.items, l.localBytes, dev.LocalBytes)
	}
	return nil
}

// A builder builds programs for one variant on one device. After its first error, all programs
// are nil.
type builder struct {
	ctx        *cl.Context
	v          variant
	checksOnly bool // check shapes, but build nothing
	clamped    bool // build kernels with clamped digits, see prelude.cl
	err        error

	programs []*cl.Program
}

func (b *builder) device() *cl.Device { return b.ctx.Device }

// program builds prelude.cl and the named files as one program. It returns a function that
// returns its kernels.
func (b *builder) program(
	g geometry,
	more cl.Defines,
	files ...string,
) (kernel func(name string) *cl.Kernel) {
	none := func(string) *cl.Kernel { return nil }
	if b.checksOnly || b.err != nil {
		return none
	}
	defines := cl.Defines{
		"WORD_BYTES": b.v.wordBytes, "HAS_VALUES": asFlag(b.v.values), "WIDE": asFlag(b.v.wide),
		"GROUP_SIZE": g.groupSize, "ITEMS": g.items, "DIGIT_BITS": g.digitBits,
		"CLAMPED": asFlag(b.clamped),
	}
	maps.Copy(defines, more)
	var source strings.Builder
	for _, name := range append([]string{"prelude"}, files...) {
		text, err := sources.ReadFile("kernels/" + name + ".cl")
		b.fail(err)
		source.Write(text)
	}
	made, err := b.ctx.Build(source.String(), defines)
	if err != nil {
		b.fail(fmt.Errorf("%s.cl: %w", files[len(files)-1], err))
		return none
	}
	b.programs = append(b.programs, made)
	return func(name string) *cl.Kernel {
		k, err := made.Kernel(name)
		b.fail(err)
		return k
	}
}

// check fails if kernels of this shape cannot run.
func (b *builder) check(g geometry, l limits) {
	b.fail(g.checkDevice(b.device(), l))
}

// fail records err, unless it is nil or there is an earlier error.
func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) release() {
	for _, p := range b.programs {
		p.Release()
	}
	b.programs = nil
}

// sections returns the number of work-groups that keep the device busy: several for each compute
// unit, so that some work while others wait ("usually a factor of 4 to 8", Harada & Howes).
func sections(d *cl.Device, perUnit int) int64 {
	return int64(max(1, d.Units) * perUnit)
}
