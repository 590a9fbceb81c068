//go:build opencl && cgo && linux

package opencl

import (
	_ "embed"
	"errors"
	"fmt"
	"math/bits"
	"sync"

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

// program builds a source with its kernels once per session and set of defines; others wait for the same build.
func (s *session) program(source string, defines cl.Defines, names ...string) (*program, error) {
	key := fmt.Sprint(names[0], defines)
	s.mu.Lock()
	made, ok := s.programs[key]
	if !ok {
		made = sync.OnceValues(func() (*program, error) { return s.buildProgram(source, defines, names) })
		s.programs[key] = made
	}
	s.mu.Unlock()
	return made()
}

func (s *session) buildProgram(source string, defines cl.Defines, names []string) (*program, error) {
	built, err := s.ctx.Build(source, defines)
	if err != nil {
		return nil, err
	}
	p := &program{built: built, kernels: map[string]*cl.Kernel{}}
	var faults []error
	for _, name := range names {
		k, err := built.Kernel(name)
		p.kernels[name] = k
		faults = append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// bareProgram has the kernels for bare keys of a type.
func (s *session) bareProgram(f format.Field) (*program, error) {
	return s.program(bareSource, cl.Defines{
		"SIZE": f.Type.Size, "WORD_BITS": 8 * wordBytes(f.Type.Size), "KIND": kindNumber(f.Type.Kind),
		"SWAP": flag(f.Type.BigEndian || f.Type.Kind == format.Bytes), "DESC": flag(f.Desc),
	}, "encode", "decode", "survey")
}

func kindNumber(k format.Kind) int {
	switch k {
	case format.Signed:
		return 1
	case format.Float:
		return 2
	}
	return 0
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recordsProgram has the kernels for records of size bytes and keys of keyBytes.
func (s *session) recordsProgram(size, keyBytes, segments, segmentShift int) (*program, error) {
	return s.program(recordsSource, cl.Defines{
		"RECORD": size, "UNIT": unitOf(size), "KEY_BYTES": keyBytes,
		"SEGMENTS": segments, "SEGMENT_SHIFT": segmentShift,
	}, "survey", "number", "extract32", "extract64", "gather")
}

// unitOf is the bytes that gather moves at a time: the largest vector that records are a multiple of.
func unitOf(size int) int { return min(16, 1<<bits.TrailingZeros(uint(size))) }

// keyTable describes each byte of the normalized key to records.cl, four words for each, most significant first.
func keyTable(l format.Layout) []uint32 {
	var table []uint32
	for _, f := range l.Key {
		table = appendField(table, f)
	}
	return table
}

func appendField(table []uint32, f format.Field) []uint32 {
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

// identityTable describes records that are normalized keys.
func identityTable(keyBytes int) []uint32 {
	return keyTable(format.Whole(keyBytes))
}
