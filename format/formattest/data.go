package formattest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/format"
)

// Bytes returns n random bytes.
func Bytes(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// Numbered returns the n numbers from first on, as records of u64.
func Numbered(first, n int) []byte {
	recs := make([]byte, 0, 8*n)
	for i := range n {
		recs = binary.LittleEndian.AppendUint64(recs, uint64(first+i))
	}
	return recs
}

// Compress returns data in the format of a codec.
func Compress(t testing.TB, data []byte, c format.Compression) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := format.NewWriter(&packed, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// Npy returns an npy file with records of a type.
func Npy(t testing.TB, typ string, recs []byte) []byte {
	t.Helper()
	header := Header(t, format.Spec{Format: "npy", Type: typ})
	return append(header.Encode(int64(len(recs)/header.Layout().RecordSize)), recs...)
}

// Generator returns the generator of the records of a distribution.
func Generator(t testing.TB, l format.Layout, dist string, seed uint64, records int64) *format.Generator {
	t.Helper()
	g, err := format.NewGenerator(l, dist, seed, records)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
