package format

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// withoutVectors runs a test as on a processor that cannot convert vectors.
func withoutVectors(t *testing.T, test func(t *testing.T)) {
	defer func(had bool) { hasVectors = had }(hasVectors)
	hasVectors = false
	test(t)
}

func TestPrefixesAndRecordsAreInverseWithoutVectors(t *testing.T) {
	withoutVectors(t, TestPrefixesAndRecordsAreInverse)
}

// TestVectorsConvertWhatTheyClaim holds vectors to Prefix, wherever their memory begins, and to leave alone what is behind it.
func TestVectorsConvertWhatTheyClaim(t *testing.T) {
	if !hasVectors {
		t.Skip("the processor has no AVX2")
	}
	const behind = 0x5A
	for _, s := range []string{
		"4 0:u32", "4 0:i32be", "4 0:f32:desc", "4 0:bytes4",
		"8 0:u64be", "8 0:i64:desc", "8 0:f64", "8 0:f64be", "8 0:bytes8:desc",
	} {
		k := keyer(t, s)
		size := k.Layout().RecordSize
		for n := range 3 * vectorNumbers {
			for shift := range 2 {
				memory := records(rand.New(rand.NewPCG(uint64(n), uint64(shift))), n+1, size)
				recs := memory[shift:][: n*size : n*size]
				keys := slices.Repeat([]uint64{behind}, n+1)
				done := vectorKeys(k, keys[:n], recs)
				if done != n/vectorNumbers*vectorNumbers {
					t.Fatalf("%s: %d of %d keys by vectors", s, done, n)
				}
				for i, key := range keys {
					want := uint64(behind)
					if i < done {
						want = k.Prefix(recs[i*size:])
					}
					if key != want {
						t.Fatalf("%s: key %d of %d is %x, want %x", s, i, n, key, want)
					}
				}
				back := slices.Repeat([]byte{behind}, (n+1)*size)
				if again := vectorsBack(k, back[shift:][:n*size], keys[:n]); again != done {
					t.Fatalf("%s: %d of %d records by vectors, want %d", s, again, n, done)
				}
				want := slices.Repeat([]byte{behind}, len(back))
				copy(want[shift:], recs[:done*size])
				if !slices.Equal(back, want) {
					t.Fatalf("%s: %d of %d records are %x, want %x", s, done, n, back, want)
				}
			}
		}
	}
}

// vectorsBack rebuilds records from keys of their size.
func vectorsBack(k *Keyer, dst []byte, keys []uint64) (done int) {
	if k.Layout().RecordSize == 8 {
		return vectorRecords(k, dst, keys)
	}
	narrow := make([]uint32, len(keys))
	for i, key := range keys {
		narrow[i] = uint32(key)
	}
	return vectorRecords(k, dst, narrow)
}

// FuzzConversions holds vectors to their twin.
func FuzzConversions(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef-+"), uint8(0))
	f.Fuzz(func(t *testing.T, recs []byte, pick uint8) {
		bare := slices.DeleteFunc(layouts(), func(s string) bool {
			l := layout(t, s)
			return !l.IsBare() || l.RecordSize != 4 && l.RecordSize != 8
		})
		k := keyer(t, bare[int(pick)%len(bare)])
		n := len(recs) / k.Layout().RecordSize
		recs = recs[:n*k.Layout().RecordSize]
		keys, want := make([]uint64, n), make([]uint64, n)
		k.Prefixes(keys, recs)
		withoutVectors(t, func(t *testing.T) { k.Prefixes(want, recs) })
		if !slices.Equal(keys, want) {
			t.Fatalf("%v: %x has the keys %x by vectors, want %x", k.Layout(), recs, keys, want)
		}
		checkInverse(t, k, recs, keys)
	})
}

// convert_amd64.s reads the fields of a conversion at these offsets.
func TestConversionOffsets(t *testing.T) {
	var c conversion
	got := []uintptr{
		unsafe.Offsetof(c.swapFirst), unsafe.Offsetof(c.before), unsafe.Offsetof(c.spread), unsafe.Offsetof(c.after),
		unsafe.Offsetof(c.swapLast),
	}
	if want := []uintptr{0, 16, 24, 32, 40}; !slices.Equal(got, want) {
		t.Errorf("fields at %v, the assembly expects %v", got, want)
	}
}
