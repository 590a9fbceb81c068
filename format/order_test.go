package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// referenceOrder computes an Order by definition, from pairs of adjacent records.
func referenceOrder(k *Keyer, recs []byte) Order {
	size := k.Layout().RecordSize
	o := Order{Records: int64(len(recs) / size), FirstDisorder: -1, FirstDuplicate: -1}
	for i := 1; i < int(o.Records); i++ {
		switch c := compareRecords(k.Layout(), recs[(i-1)*size:][:size], recs[i*size:][:size]); {
		case c > 0 && o.FirstDisorder < 0:
			o.FirstDisorder = int64(i)
			o.disorder = neighbors{k.Append(nil, recs[i*size:]), k.Append(nil, recs[(i-1)*size:])}
		case c == 0:
			o.Duplicates++
			if o.FirstDuplicate < 0 {
				o.FirstDuplicate = int64(i)
				o.duplicate = neighbors{k.Append(nil, recs[i*size:]), k.Append(nil, recs[(i-1)*size:])}
			}
		}
	}
	return o
}

func sameOrder(a, b Order) bool {
	a.firstKey, a.lastKey, b.firstKey, b.lastKey = nil, nil, nil, nil
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func TestOrderOfBlocksInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, s := range []string{"8 0:u64", "3 1:i8:desc", "100 0:bytes10", "20 0:u128 16:f32", "1 0:u8"} {
		k := keyer(t, s)
		size := k.Layout().RecordSize
		for _, dist := range []string{"sorted", "nearly-sorted", "few", "equal", "uniform"} {
			for _, n := range []int{0, 1, 2, blockKeys, blockKeys + 1, blockKeys + 2, 1300} {
				recs := generated(t, s, dist, 2, int64(n))
				want := referenceOrder(k, recs)
				if got := CheckBlock(k, 0, recs); !sameOrder(got, want) {
					t.Fatalf("%s %s %d: CheckBlock %+v, want %+v", s, dist, n, got, want)
				}
				var check OrderCheck
				for _, cut := range cuts(rng, n) {
					check.Add(CheckBlock(k, int64(cut[0]), recs[cut[0]*size:cut[1]*size]))
				}
				if got, err := check.Result(); err != nil || !sameOrder(got, want) {
					t.Fatalf("%s %s %d: joined %+v, %v, want %+v", s, dist, n, got, err, want)
				}
			}
		}
	}
}

// cuts divides 0 to n into ranges, some empty, and shuffles them.
func cuts(rng *rand.Rand, n int) [][2]int {
	at := []int{0, n}
	for range rng.IntN(20) {
		at = append(at, rng.IntN(n+1))
	}
	slices.Sort(at)
	var ranges [][2]int
	for i := range at[1:] {
		ranges = append(ranges, [2]int{at[i], at[i+1]})
	}
	rng.Shuffle(len(ranges), func(i, j int) { ranges[i], ranges[j] = ranges[j], ranges[i] })
	return ranges
}

func TestFirstFault(t *testing.T) {
	for _, c := range []struct{ disorder, duplicate, plain, unique int64 }{
		{-1, -1, -1, -1}, {5, -1, 5, 5}, {-1, 7, -1, 7}, {5, 7, 5, 5}, {7, 5, 7, 5},
	} {
		o := Order{FirstDisorder: c.disorder, FirstDuplicate: c.duplicate}
		o.disorder, o.duplicate = neighbors{key: []byte{5}}, neighbors{key: []byte{7}}
		if key, _ := o.FaultKeys(true); c.unique >= 0 && (key[0] == 5) != (c.unique == c.disorder) {
			t.Errorf("%+v: the key of the first fault is %d", o, key)
		}
		if o.FirstFault(false) != c.plain || o.FirstFault(true) != c.unique {
			t.Errorf("%+v: %d and %d, want %d and %d", o, o.FirstFault(false), o.FirstFault(true), c.plain, c.unique)
		}
	}
}

func TestOrderCheckMissesNothing(t *testing.T) {
	k := keyer(t, "1 0:u8")
	for first, want := range map[int64]string{0: "after record 2", 1: "after record 0"} {
		var check OrderCheck
		check.Add(CheckBlock(k, first, []byte("ab")))
		check.Add(CheckBlock(k, first+3, []byte("de")))
		if _, err := check.Result(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a gap is not noticed: %v, want %q", err, want)
		}
	}
}

func TestChecksumIsASumOfHashes(t *testing.T) {
	const n, size = 1000, 12
	recs := generated(t, "12 0:u32 4:u64", "uniform", 1, n)
	var whole, parts Checksum
	whole.Add(recs, size)
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
		var one Checksum
		one.Add(recs[i*size:(i+1)*size], size)
		parts.Merge(one)
	}
	if whole != parts || whole == (Checksum{}) {
		t.Errorf("in another order %v, want %v", parts, whole)
	}
	var doubled Checksum
	doubled.Add(append(slices.Clone(recs[:(n-1)*size]), recs[:size]...), size)
	if doubled == whole {
		t.Error("a record that came twice in place of another is not noticed")
	}
	var pair Checksum
	pair.Add(append(slices.Clone(recs[:size]), recs[:size]...), size)
	if pair == (Checksum{}) {
		t.Error("two equal records cancel each other")
	}
}

// TestChecksumSumsTheLibrarysHashes compares each way of computing a CRC-32 with the standard
// library.
func TestChecksumSumsTheLibrarysHashes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for size := 1; size <= 101; size++ {
		for _, n := range []int{0, 1, 2, 40} {
			recs := records(r, n, size)
			got := Checksum{hi: 7, lo: ^uint64(0) - 7}
			want := got
			got.Add(recs, size)
			for rec := range slices.Chunk(recs, size) {
				want.Merge(Checksum{lo: uint64(crc32.ChecksumIEEE(rec))})
			}
			if got != want {
				t.Errorf("%d records of %d bytes: %v, want %v", n, size, got, want)
			}
		}
	}
	var many Checksum
	many.Add(make([]byte, 2*summedRecords+1), 1)
	if want := (2*summedRecords + 1) * uint64(crc32.ChecksumIEEE([]byte{0})); many != (Checksum{lo: want}) {
		t.Errorf("%d zeros: %v, want %x", 2*summedRecords+1, many, want)
	}
}

// TestChecksumText writes checksums as valsort does: without leading zeros.
func TestChecksumText(t *testing.T) {
	var abc Checksum
	abc.Add([]byte("abc"), 3)
	for want, c := range map[string]Checksum{
		"0": {}, "352441c2": abc, "7a27e2d0d55de": {lo: 0x7a27e2d0d55de}, "1000000000000000a": {hi: 1, lo: 10},
	} {
		if c.String() != want {
			t.Errorf("%v is to be %s", c, want)
		}
	}
}

func TestChecksumCarries(t *testing.T) {
	a := Checksum{hi: 1, lo: ^uint64(0)}
	a.Merge(Checksum{lo: 1})
	if a != (Checksum{hi: 2}) {
		t.Errorf("%v", a)
	}
}

func FuzzCheckBlock(f *testing.F) {
	f.Add([]byte("aabbccdd"), uint8(3))
	k := keyer(f, "2 0:i16be")
	f.Fuzz(func(t *testing.T, recs []byte, cut uint8) {
		recs = recs[:len(recs)/2*2]
		at := min(int(cut), len(recs)/2)
		want := referenceOrder(k, recs)
		if got := CheckBlock(k, 0, recs[:2*at]).Join(CheckBlock(k, int64(at), recs[2*at:])); !sameOrder(got, want) &&
			want.Records > 0 {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

func BenchmarkCheckBlock(b *testing.B) {
	for _, s := range []string{"8 0:u64", "100 0:bytes10", "16 0:u128"} {
		k := keyer(b, s)
		recs := generated(b, s, "sorted", 1, 1<<17)
		b.Run("layout="+strings.ReplaceAll(s, " ", "_")+"/n=128Ki", func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				CheckBlock(k, 0, recs)
			}
		})
	}
}

func BenchmarkChecksum(b *testing.B) {
	recs := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, 12345), 1<<17)
	for _, size := range []int{1, 4, 8, 16, 48, 100, 1024} {
		b.Run(fmt.Sprintf("record=%d/n=1MiB", size), func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				var c Checksum
				c.Add(recs, size)
			}
		})
	}
}

// TestChecksumsAreTakenApart checks Without, and that a checksum can be parsed from its text.
func TestChecksumsAreTakenApart(t *testing.T) {
	recs := make([]byte, 8*1000)
	rand.NewChaCha8([32]byte{1}).Read(recs)
	for at := 0; at <= len(recs); at += 8 * 50 {
		var whole, first, rest, again Checksum
		whole.Add(recs, 8)
		first.Add(recs[:at], 8)
		rest.Add(recs[at:], 8)
		text, err := whole.MarshalText()
		if err != nil || again.UnmarshalText(text) != nil || again != whole || whole.Without(first) != rest {
			t.Errorf("%d bytes: %v without %v is %v, %s is read as %v: %v", at, whole, first, whole.Without(first), text,
				again, err)
		}
	}
	if new(Checksum).UnmarshalText([]byte("12")) == nil {
		t.Error("a short text is read")
	}
}
