//go:build opencl && cgo && linux

package opencl

import (
	_ "embed"
	"fmt"

	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/format"
)

//go:embed kernels/bare.cl
var bareSource string

//go:embed kernels/records.cl
var recordsSource string

func (c *chunk) prepare() (*cl.Program, error) {
	source := bareSource
	defines := cl.Defines{
		"SIZE":      c.shape.keyBytes,
		"WORD_BITS": 8 * wordBytes(c.shape.keyBytes),
	}
	if !c.shape.isBare {
		source = recordsSource
		defines = cl.Defines{"SEGMENTS": 1}
	}
	if len(c.memory.segments) > 1 {
		defines = cl.Defines{
			"SEGMENTS":      maxSegments,
			"SEGMENT_SHIFT": c.memory.shift,
		}
	}
	s := c.session
	p, err := getOrCreate(s, s.programs, fmt.Sprint(defines), func() (*cl.Program, error) {
		return s.ctx.Build(source, defines)
	})
	if err == nil {
		_, _, _ = c.sorter() // an error recurs in Sort, which returns it
	}
	return p, err
}

// signMasks returns the masks that normalize a field by xor, if the sign bit is set and if it is
// not. Each pair is the mask for the most significant byte and the mask for all others.
func signMasks(f format.Field) (negative, positive [2]byte) {
	switch f.Type.Kind {
	case format.Signed:
		negative = [2]byte{0x80, 0}
		positive = [2]byte{0x80, 0}
	case format.Float, format.Brain, format.Extended:
		negative = [2]byte{0xFF, 0xFF}
		positive = [2]byte{0x80, 0}
	}
	if f.Desc {
		for i := range negative {
			negative[i], positive[i] = ^negative[i], ^positive[i]
		}
	}
	return negative, positive
}

// codingArgs returns the arguments of encode and decode that depend on the field: whether bytes are
// swapped, and the masks for keys with and without the sign bit.
func codingArgs(f format.Field) []any {
	word := func(masks [2]byte) uint64 {
		w := uint64(masks[0])
		for range f.Type.Size - 1 {
			w = w<<8 | uint64(masks[1])
		}
		return w
	}
	var swap uint32
	if f.Type.Place(0) == 0 {
		swap = 1
	}
	negative, positive := signMasks(f)
	return []any{swap, word(negative), word(positive)}
}

// keyTable describes each byte of the normalized key to records.cl, most significant first: the
// byte's position in the record, the position of the byte with its sign bit, and the masks.
func keyTable(l format.Layout) (table []uint32) {
	for _, f := range l.Key {
		place := func(i int) uint32 {
			return uint32(f.Offset + f.Type.Place(i))
		}
		negative, positive := signMasks(f)
		for j := range f.Type.KeyBytes() {
			mask := min(j, 1)
			table = append(
				table,
				place(j),
				place(0),
				uint32(negative[mask]),
				uint32(positive[mask]),
			)
		}
	}
	return table
}
