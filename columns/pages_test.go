package columns

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func init() { overwritesFreed = true }

// TestPageMemory allocates, grows and frees buffers at random. No buffer may change while it is in use, and
// free buffers must stay within the limit.
func TestPageMemory(t *testing.T) {
	const limit = 4 << 20
	rng := rand.New(rand.NewPCG(1, 55))
	m := newPageMemory(limit)
	type buffer struct {
		data []byte
		fill byte
	}
	var inUse []buffer
	isWhole := func(b buffer, n int) bool { return bytes.Count(b.data[:n], []byte{b.fill}) == n }
	reused := 0
	for i := range 5000 {
		size := 1 + rng.IntN(1<<rng.IntN(20))
		at := rng.IntN(len(inUse) + 1)
		switch choice := rng.IntN(5); {
		case choice < 2 || at == len(inUse):
			kept := m.kept
			b := buffer{m.Allocate(size), byte(i)}
			if m.kept < kept {
				reused++
			}
			copy(b.data, bytes.Repeat([]byte{b.fill}, size))
			inUse = append(inUse, b)
		case choice == 2:
			b := &inUse[at]
			old := len(b.data)
			b.data = m.Reallocate(size, b.data)
			if !isWhole(*b, min(old, size)) {
				t.Fatal("the content of a buffer is lost when its size changes")
			}
			copy(b.data, bytes.Repeat([]byte{b.fill}, size))
		default:
			b := inUse[at]
			if !isWhole(b, len(b.data)) {
				t.Fatal("a buffer has changed")
			}
			m.Free(b.data)
			inUse = append(inUse[:at], inUse[at+1:]...)
		}
		if m.kept > 0 && m.used+m.kept > limit {
			t.Fatalf("%d bytes are in use and %d are kept", m.used, m.kept)
		}
	}
	for _, b := range inUse {
		m.Free(b.data)
	}
	if m.used != 0 || reused == 0 {
		t.Errorf("%d bytes are in use at the end, and %d buffers were reused", m.used, reused)
	}
	if m.drop(); m.kept != 0 {
		t.Errorf("%d bytes are kept at the end", m.kept)
	}
}
