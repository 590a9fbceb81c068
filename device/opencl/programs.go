//go:build opencl && cgo && linux

package opencl

import (
	_ "embed"
	"fmt"
	"math/bits"

	"github.com/extsort/extsort/device/opencl/cl"
	"github.com/extsort/extsort/format"
)

//go:embed kernels/bare.cl
var bareSource string

//go:embed kernels/records.cl
var recordsSource string

// program is the kernels of one source for one layout.
type program struct {
	built   *cl.Program
	kernels map[string]*cl.Kernel
}

func (p *program) release() {
	for _, k := range p.kernels {
		k.Release()
	}
	p.built.Release()
}

// program builds a source with its kernels once per session and set of defines.
func (s *session) program(source string, defines cl.Defines, names ...string) (*program, error) {
	return s.programs.get(fmt.Sprint(names[0], defines), func() (*program, error) {
		built, err := s.ctx.Build(source, defines)
		if err != nil {
			return nil, err
		}
		p := &program{built: built, kernels: map[string]*cl.Kernel{}}
		for _, name := range names {
			if p.kernels[name], err = built.Kernel(name); err != nil {
				p.release()
				return nil, err
			}
		}
		return p, nil
	})
}

// bareProgram has the kernels for bare keys of size bytes.
func (s *session) bareProgram(size int) (*program, error) {
	return s.program(bareSource, cl.Defines{"SIZE": size, "WORD_BITS": 8 * wordBytes(size)}, "encode", "decode", "survey")
}

// coding is the arguments of encode and decode that tell the type and the direction: whether bytes are swapped, and
// the masks of keys whose sign bit is and is not set.
func coding(f format.Field) []any {
	sign := uint64(1) << (8*f.Type.Size - 1)
	all := sign | (sign - 1)
	var swap uint32
	if f.Type.BigEndian || f.Type.Kind == format.Bytes {
		swap = 1
	}
	var negative, positive uint64
	switch f.Type.Kind {
	case format.Signed:
		negative, positive = sign, sign
	case format.Float:
		negative, positive = all, sign
	}
	if f.Desc {
		negative, positive = negative^all, positive^all
	}
	return []any{swap, negative, positive}
}

// recordsProgram has the kernels for records in so many segments.
func (s *session) recordsProgram(segments, segmentShift int) (*program, error) {
	defines := cl.Defines{"SEGMENTS": 1}
	if segments > 1 {
		defines = cl.Defines{"SEGMENTS": maxSegments, "SEGMENT_SHIFT": segmentShift}
	}
	return s.program(recordsSource, defines, "survey", "number", "disorder", "extract32", "extract64",
		"gather1", "gather2", "gather4", "gather8", "gather16")
}

// gatherUnit is the bytes that gather moves at a time: the largest vector that records are a multiple of.
func gatherUnit(size int) int { return min(16, 1<<bits.TrailingZeros(uint(size))) }

// keyTable describes each byte of the normalized key to records.cl, four words for each, most significant first.
func keyTable(l format.Layout) []uint32 {
	var table []uint32
	for _, f := range l.Key {
		table = append(table, fieldTable(f)...)
	}
	return table
}

func fieldTable(f format.Field) (table []uint32) {
	size := f.Type.Size
	at := func(j int) uint32 { // where byte j, counted from the most significant, stands in the record
		if f.Type.Kind == format.Bytes || f.Type.BigEndian {
			return uint32(f.Offset + j)
		}
		return uint32(f.Offset + size - 1 - j)
	}
	var inverted uint32
	if f.Desc {
		inverted = 0xFF
	}
	for j := range size {
		negative, positive := inverted, inverted
		if f.Type.Kind == format.Float {
			negative ^= 0xFF
		}
		if j == 0 && f.Type.Kind == format.Signed {
			negative ^= 0x80
		}
		if j == 0 && (f.Type.Kind == format.Signed || f.Type.Kind == format.Float) {
			positive ^= 0x80
		}
		table = append(table, at(j), at(0), negative, positive)
	}
	return table
}
