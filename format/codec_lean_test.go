package format

import (
	"bytes"
	"io"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
)

// TestSuspendedReader reads streams of every compression, which are suspended again and again, as a whole.
func TestSuspendedReader(t *testing.T) {
	data := compressible(300_000)
	streams := map[Compression][]byte{LZ4: lz4Compressed(t, data)}
	for _, c := range compressions {
		streams[c] = compressed(t, c, 1, data)
	}
	for c, stream := range streams {
		for _, lean := range []bool{false, true} {
			r := NewReader(bytes.NewReader(stream), c, CommonWindow)
			if lean {
				ReduceMemory(r)
			}
			var got []byte
			for _, n := range []int{0, 1, 1000, 100_000} {
				part := make([]byte, n)
				if _, err := io.ReadFull(r, part); err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				got = append(got, part...)
				if c != None {
					Suspend(r, bytes.NewReader(stream))
				}
			}
			rest, err := io.ReadAll(r)
			if got = append(got, rest...); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%v, lean %t: %d bytes of %d, or wrong ones: %v", c, lean, len(got), len(data), err)
			}
			r.Close()
		}
	}
}

// TestSuspendedReaderOfShorterSource is an error where the stream has become shorter meanwhile.
func TestSuspendedReaderOfShorterSource(t *testing.T) {
	for _, c := range []Compression{Gzip, Zstd, S2} {
		r := NewReader(bytes.NewReader(compressed(t, c, 1, compressible(5000))), c, CommonWindow)
		if _, err := io.ReadFull(r, make([]byte, 4000)); err != nil {
			t.Fatal(err)
		}
		Suspend(r, bytes.NewReader(compressed(t, c, 1, compressible(3000))))
		if n, err := r.Read(make([]byte, 100)); n > 0 || err == nil || err == io.EOF {
			t.Errorf("%v: %d bytes, error %v", c, n, err)
		}
	}
}

func TestLeanMemoryHolds(t *testing.T) {
	if testfiles.Race {
		t.Skip("the race detector holds memory of its own")
	}
	data := compressible(12 << 20)
	streams := map[Compression][][]byte{
		Gzip: {compressed(t, Gzip, 2, data)},
		Zstd: {windowed(t, CommonWindow, data)},
		S2:   {compressed(t, S2, 2, data)},
		LZ4:  {lz4Compressed(t, data)},
	}
	for c, all := range streams {
		for _, stream := range all {
			got := liveBytes(func(check func()) {
				r := NewReader(bytes.NewReader(stream), c, CommonWindow)
				ReduceMemory(r)
				for part := make([]byte, 64<<10); ; check() {
					if _, err := io.ReadFull(r, part); err != nil {
						break
					}
				}
				r.Close()
			})
			if limit := LeanMemory(c) + 256<<10; got > limit { // 64 KiB are part
				t.Errorf("%v: a reader holds %d KiB, more than the %d estimated", c, got>>10, limit>>10)
			}
		}
	}
}
