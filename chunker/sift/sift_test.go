package sift

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// keyed is records of a key and their index, so that the stable order is the only right one.
func keyed(keys []uint32) []byte {
	var recs []byte
	for i, key := range keys {
		recs = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(recs, key), uint32(i))
	}
	return recs
}

// sifted returns the output of a Sieve for the given records, and the number of strays.
func sifted(k *format.Keyer, recs []byte, block, workers int, most int64) (out []byte, strays int64, err error) {
	size := k.Layout().RecordSize
	s, err := New(Options{Keyer: k, Workers: workers, BlockRecords: block, Strays: most})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	src := func() device.Source {
		return input.ReaderSource(bytes.NewReader(recs), 0, int64(len(recs)/size), size)
	}
	if err := s.Read(context.Background(), src()); err != nil {
		return nil, 0, err
	}
	for _, strays := range []*Strays{s.Early, s.Late} {
		inOrder := formattest.Sorted(k, strays.memory.Bytes()[:strays.count*strays.recordBytes])
		if err := strays.WriteBlock(context.Background(), 0, inOrder); err != nil {
			return nil, 0, err
		}
	}
	out = make([]byte, len(recs))
	var written device.BlockWriterFunc = func(_ context.Context, first int64, recs []byte) error {
		copy(out[first*int64(size):], recs)
		return nil
	}
	return out, s.Early.count + s.Late.count, s.Write(context.Background(), src(), written)
}

// TestSift sifts data of many kinds by blocks of many sizes: the output is the stable order, and
// no more are strays than the data have out of order, or a few more.
func TestSift(t *testing.T) {
	const n = 5000
	kinds := map[string]struct {
		key  func(i int, r *rand.Rand) uint32
		most int // strays
	}{
		"in order":                   {func(i int, _ *rand.Rand) uint32 { return uint32(i) }, 0},
		"equal":                      {func(int, *rand.Rand) uint32 { return 7 }, 0},
		"one of 64 astray":           {func(i int, r *rand.Rand) uint32 { return astray(i, 64, r) }, n / 40},
		"few keys, one of 64 astray": {func(i int, r *rand.Rand) uint32 { return astray(i, 64, r) / 500 }, n / 40},
		"appended": {func(i int, r *rand.Rand) uint32 {
			if i > n*9/10 {
				return r.Uint32N(n)
			}
			return uint32(i)
		}, n / 9},
		"bursts from far ahead": {func(i int, r *rand.Rand) uint32 {
			if i%500 > 480 {
				return uint32(i + 2000)
			}
			return uint32(i)
		}, n / 20},
		"late by a little": {func(i int, r *rand.Rand) uint32 {
			return uint32(i) - min(uint32(i), r.Uint32N(3))
		}, n * 6 / 10},
		"reversed":         {func(i int, _ *rand.Rand) uint32 { return uint32(n - i) }, n},
		"random":           {func(_ int, r *rand.Rand) uint32 { return r.Uint32() }, n},
		"two sorted files": {func(i int, _ *rand.Rand) uint32 { return uint32(i % (n / 2)) }, n / 2},
	}
	k := formattest.Keyer(t, format.Spec{RecordSize: 8, Keys: []string{"0:u32"}})
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			keys := make([]uint32, n)
			for i := range keys {
				keys[i] = kind.key(i, r)
			}
			recs := keyed(keys)
			want := formattest.Sorted(k, recs)
			for _, block := range []int{1, 3, 100, 512, n} {
				for _, workers := range []int{1, 3} {
					out, strays, err := sifted(k, recs, block, workers, n)
					if err != nil || !bytes.Equal(out, want) {
						t.Fatalf("blocks of %d, %d workers: not the stable order (%v)", block, workers, err)
					}
					if block >= 100 && strays > int64(kind.most) {
						t.Errorf("blocks of %d: %d strays, more than %d", block, strays, kind.most)
					}
				}
			}
		})
	}
}

// astray returns a key in its place, or with probability 1/of a random one.
func astray(i, of int, r *rand.Rand) uint32 {
	if r.IntN(of) == 0 {
		return r.Uint32N(5000)
	}
	return uint32(i)
}

// TestSiftTies sifts stretches of equal keys that overlap, so that blocks begin and end within a
// stretch. It is the data of a log whose times are in seconds.
func TestSiftTies(t *testing.T) {
	k := formattest.Keyer(t, format.Spec{RecordSize: 8, Keys: []string{"0:u32"}})
	r := rand.New(rand.NewPCG(1, 1))
	for file := range 100 {
		keys := make([]uint32, 3000)
		for i := range keys {
			keys[i] = uint32(i/20) + 1
			switch r.IntN(16) {
			case 0, 1, 2:
				keys[i]--
			case 3, 4, 5:
				keys[i]++
			}
		}
		recs := keyed(keys)
		for _, block := range []int{17, 64} {
			out, _, err := sifted(k, recs, block, 1, int64(len(keys)))
			if err != nil || !bytes.Equal(out, formattest.Sorted(k, recs)) {
				t.Fatalf("file %d in blocks of %d: not the stable order (%v)", file, block, err)
			}
		}
	}
}

// TestSiftKeys sifts records by keys that are longer than a prefix, descending, or spread over the
// record.
func TestSiftKeys(t *testing.T) {
	for _, spec := range []format.Spec{
		{RecordSize: 21, Keys: []string{"1:bytes16"}},
		{RecordSize: 12, Keys: []string{"4:u64:desc"}},
		{RecordSize: 16, Keys: []string{"9:i8", "0:f64:desc", "12:u32be"}},
		{RecordSize: 8, Keys: []string{"0:u64"}},
		{RecordSize: 3, Keys: []string{"0:u24"}},
	} {
		t.Run(fmt.Sprint(spec.Keys), func(t *testing.T) {
			k := formattest.Keyer(t, spec)
			r := rand.New(rand.NewPCG(3, 4))
			recs := make([]byte, 3000*spec.RecordSize)
			for i := range recs {
				recs[i] = byte(r.IntN(3)) // so that keys share prefixes, and are equal
			}
			recs = formattest.Sorted(k, recs)
			for range 100 {
				from, to := r.IntN(3000), r.IntN(3000)
				copy(recs[to*spec.RecordSize:], bytes.Clone(recs[from*spec.RecordSize:(from+1)*spec.RecordSize]))
			}
			out, _, err := sifted(k, recs, 256, 2, 3000)
			if err != nil || !bytes.Equal(out, formattest.Sorted(k, recs)) {
				t.Fatalf("not the stable order (%v)", err)
			}
		})
	}
}

// FuzzSift gives a Sieve keys of a byte each, by blocks of a few.
func FuzzSift(f *testing.F) {
	f.Add([]byte{1, 2, 9, 3, 4, 5, 5, 9, 5}, uint8(4))
	f.Add([]byte{5, 9, 5, 5, 6, 7, 8, 1, 2, 5}, uint8(3))
	// The second block gives up its first 8, which is equal to the last record before the block.
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 9, 9, 9, 8, 8, 7, 8, 8, 8}, uint8(9))
	k := formattest.Keyer(f, format.Spec{RecordSize: 8, Keys: []string{"0:u32"}})
	f.Fuzz(func(t *testing.T, data []byte, block uint8) {
		keys := make([]uint32, len(data))
		for i, b := range data {
			keys[i] = uint32(b)
		}
		recs := keyed(keys)
		out, _, err := sifted(k, recs, int(block)+1, 2, int64(len(keys)))
		if err != nil || !bytes.Equal(out, formattest.Sorted(k, recs)) {
			t.Fatalf("not the stable order (%v): %v", err, data)
		}
	})
}

// TestTooManyStrays sifts data with more strays than there is memory for, and data that change
// between the readings.
func TestTooManyStrays(t *testing.T) {
	k := formattest.Keyer(t, format.Spec{RecordSize: 8, Keys: []string{"0:u32"}})
	keys := make([]uint32, 1000)
	for i := range keys {
		keys[i] = uint32(i)
	}
	for i := range 10 {
		keys[100*i+50] = 0
	}
	recs := keyed(keys)
	if _, strays, err := sifted(k, recs, 64, 2, 10); err != nil || strays != 10 {
		t.Errorf("10 strays, room for 10: %d, %v", strays, err)
	}
	if _, _, err := sifted(k, recs, 64, 2, 9); !errors.Is(err, ErrTooMany) {
		t.Errorf("10 strays, room for 9: %v", err)
	}
	s, err := New(Options{Keyer: k, Workers: 1, BlockRecords: 64, Strays: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	src := func() device.Source { return input.ReaderSource(bytes.NewReader(recs), 0, 1000, 8) }
	if err := s.Read(context.Background(), src()); err != nil {
		t.Fatal(err)
	}
	recs[8*700+7]++ // no part of a key
	if err := s.Write(context.Background(), src(), device.Discard); !errors.Is(err, input.ErrChanged) {
		t.Errorf("the input changed: %v", err)
	}
}
