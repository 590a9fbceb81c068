package radix

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/extsort/extsort/device/arena"
)

// TestAppender compares the contents of the buffers of all parts with the elements that were
// appended to each.
func TestAppender(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, bufferBytes := range []int{256, 512, 4096} {
		for _, parts := range []int{1, 2, 7, 300} {
			testAppender(t, r, bufferBytes, parts, func(i int) uint32 { return uint32(i) })
			testAppender(t, r, bufferBytes, parts, func(i int) uint64 { return uint64(i) << 7 })
			testAppender(t, r, bufferBytes, parts, func(i int) [2]uint64 { return [2]uint64{uint64(i), ^uint64(i)} })
		}
	}
	for bytes, can := range map[int]bool{128: false, 256: true, 384: false, 1 << 20: true, 0: false} {
		if CanAppend(bytes) != can {
			t.Errorf("CanAppend(%d) is %t", bytes, !can)
		}
	}
}

func testAppender[E arena.Word](t *testing.T, r *rand.Rand, bufferBytes, parts int, element func(i int) E) {
	memory, err := arena.Alloc(bufferBytes*parts + AppenderBytes(parts))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	a := NewAppender[E](memory.Bytes(), parts, bufferBytes)
	capacity := bufferBytes / int(unsafe.Sizeof(element(0)))
	name := fmt.Sprintf("%T, %d parts of %d bytes", element(0), parts, bufferBytes)
	for range 2 { // after Finish it starts again
		want, got := make([][]E, parts), make([][]E, parts)
		empty := func(part int) {
			content := arena.View[E](a.Buffered(part))
			if len(content) > capacity {
				t.Fatalf("%s: %d elements in a buffer for %d", name, len(content), capacity)
			}
			got[part] = append(got[part], content...)
			a.Clear(part)
		}
		for i := 0; i < 30*parts*capacity/10; {
			n := r.IntN(3000)
			elems, numbers := make([]E, n), make([]uint32, n)
			skewed := r.IntN(3) == 0
			for j := range elems {
				if elems[j] = element(i + j); !skewed || r.IntN(20) == 0 {
					numbers[j] = r.Uint32N(uint32(parts))
				}
				want[numbers[j]] = append(want[numbers[j]], elems[j])
			}
			i += n
			for len(elems) > 0 {
				done, full := a.Append(arena.ByteView(elems), numbers)
				if elems, numbers = elems[done:], numbers[done:]; full < 0 {
					if len(elems) > 0 {
						t.Fatalf("%s: no buffer is full, and %d elements are left", name, len(elems))
					}
					break
				}
				if n := len(a.Buffered(full)); n != bufferBytes {
					t.Fatalf("%s: %d bytes in a full buffer for %d", name, n, bufferBytes)
				}
				empty(full)
			}
		}
		for part := range parts {
			for !a.Finish(part) {
				empty(part)
			}
			empty(part)
			if !slices.Equal(got[part], want[part]) {
				t.Fatalf("%s: part %d of %d elements came out as %d others", name, part, len(want[part]), len(got[part]))
			}
		}
	}
}
