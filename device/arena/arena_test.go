package arena

import (
	"testing"
	"unsafe"
)

func TestAlloc(t *testing.T) {
	for _, size := range []int{0, 1, 7, 8, 63, 64, 4096, 2<<20 - 1, 2 << 20, 5<<20 + 3} {
		m, err := Alloc(size)
		if err != nil {
			t.Fatalf("Alloc(%d): %v", size, err)
		}
		b := m.Bytes()
		if narrow, wide := len(View[uint32](b)), len(View[uint64](b)); len(b) != size || narrow != size/4 || wide != size/8 {
			t.Fatalf("Alloc(%d): %d bytes, %d and %d words", size, len(b), narrow, wide)
		}
		if size > 0 && uintptr(unsafe.Pointer(&b[0]))%align != 0 {
			t.Errorf("Alloc(%d): start %p is not aligned to %d", size, &b[0], align)
		}
		for i := range b {
			if b[i] != 0 {
				t.Fatalf("Alloc(%d): byte %d is %d, not zero", size, i, b[i])
			}
			b[i] = 1
		}
		if err := m.Free(); err != nil {
			t.Errorf("Free of %d bytes: %v", size, err)
		}
		if err := m.Free(); err != nil || m.Bytes() != nil {
			t.Errorf("second Free of %d bytes: %v, %d bytes left", size, err, len(m.Bytes()))
		}
	}
}

func TestAllocNegative(t *testing.T) {
	if m, err := Alloc(-1); err == nil {
		t.Errorf("Alloc(-1) gave %d bytes", len(m.Bytes()))
	}
}

func TestFreeNil(t *testing.T) {
	var m *Memory
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

func TestViewsShareMemory(t *testing.T) {
	m, err := Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Free()
	View[uint64](m.Bytes())[3] = 0x0102030401020304
	if w := View[uint32](m.Bytes())[6:8]; w[0] != w[1] || w[0] != 0x01020304 {
		t.Errorf("words %x", w)
	}
	if b := ByteView(View[uint64](m.Bytes())[:4]); len(b) != 32 || b[31] != 1 && b[31] != 4 {
		t.Errorf("bytes %x", b)
	}
}

// TestDiscard discards some bytes: the others keep their values, and the discarded ones can be
// used again.
func TestDiscard(t *testing.T) {
	for _, size := range []int{0, 100, 5000, 20_000, 5 << 20} {
		for _, from := range []int{0, 1, 4096, 4097, size / 2, size, size + 1} {
			for _, to := range []int{from, from + 5000, size, size + 1} {
				discardSome(t, size, from, to)
			}
		}
	}
}

func discardSome(t *testing.T, size, from, to int) {
	m, err := Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bytes()
	for i := range b {
		b[i] = byte(i%251) + 1
	}
	m.Discard(from, to)
	for i := range b {
		if gone := i >= from && i < to && b[i] == 0; b[i] != byte(i%251)+1 && !gone {
			t.Fatalf("bytes %d to %d of %d discarded: byte %d is %d", from, to, size, i, b[i])
		}
		b[i] = 7
	}
	if err := m.Free(); err != nil {
		t.Error(err)
	}
	m.Discard(from, to)
}
