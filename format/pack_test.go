package format

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sortRecords sorts records by the keyer.
func sortRecords(k *Keyer, recs []byte) []byte {
	size := k.Layout().RecordSize
	list := slices.Collect(slices.Chunk(recs, size))
	slices.SortStableFunc(list, k.Compare)
	return bytes.Join(list, nil)
}

// packedRecords returns n records: with random bytes, with few values, all equal, and with
// numbers on both sides of 0.
func packedRecords(r *rand.Rand, n, size int) map[string][]byte {
	all := map[string][]byte{}
	for _, kind := range []string{"uniform", "few", "equal", "around 0"} {
		recs := make([]byte, n*size)
		for i := range recs {
			switch kind {
			case "uniform":
				recs[i] = byte(r.Uint32())
			case "few":
				recs[i] = byte(r.IntN(2) * 255)
			case "equal":
				recs[i] = byte(i % size)
			}
		}
		if kind == "around 0" {
			for i := 0; i < n; i++ {
				sign := byte(r.IntN(2) * 255)
				for b := range size {
					recs[i*size+b] = sign
				}
				recs[i*size] ^= byte(r.IntN(16))
			}
		}
		all[kind] = recs
	}
	return all
}

func TestPackRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	packers := 0
	for _, spec := range layouts() {
		k := keyer(t, spec)
		p := NewPacker(k.Layout())
		if p == nil {
			if k.Layout().RecordSize <= maxPackedRecord && !hostBigEndian {
				t.Errorf("%s: no packer", spec)
			}
			continue
		}
		packers++
		if len(p.columns) > 21 {
			t.Errorf("%s: %d columns", spec, len(p.columns))
		}
		for _, n := range []int{0, 1, 2, 7, 8, 127, 128, 129, 300} {
			for kind, recs := range packedRecords(r, n, k.Layout().RecordSize) {
				checkPack(t, p, fmt.Sprintf("%s: %d %s", spec, n, kind), recs)
				checkPack(t, p, fmt.Sprintf("%s: %d %s, sorted", spec, n, kind), sortRecords(k, recs))
			}
		}
	}
	if packers == 0 {
		t.Skip("nothing is packed on this machine")
	}
}

// checkPack packs records into exactly MaxCompressed bytes, followed by guard bytes, and unpacks
// them.
func checkPack(t *testing.T, p *Packer, what string, recs []byte) {
	t.Helper()
	memory := bytes.Repeat([]byte{0xa5}, MaxCompressed(len(recs), Delta)+16)
	room := memory[:MaxCompressed(len(recs), Delta)]
	packed := p.Pack(room, recs)
	if len(packed)+packPadding > len(room) || len(packed) > 0 && &packed[0] != &room[0] {
		t.Errorf("%s: %d bytes packed, which with what Unpack needs are more than %d", what, len(packed), len(room))
		return
	}
	if !bytes.Equal(memory[len(room):], bytes.Repeat([]byte{0xa5}, 16)) {
		t.Errorf("%s: written behind its memory", what)
	}
	got := make([]byte, len(recs))
	if err := p.Unpack(got, packed); err != nil || !bytes.Equal(got, recs) {
		t.Errorf("%s: not given back: %v", what, err)
	}
	if len(recs) == 0 {
		return
	}
	if err := p.Unpack(got, packed[:len(packed)-1]); err == nil {
		t.Errorf("%s: a block that is cut short is accepted", what)
	}
}

// TestPackCompresses checks the compressed size: sorted keys take the bits of their mean
// difference and a few more.
func TestPackCompresses(t *testing.T) {
	const n = 1 << 14
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		spec string
		bits float64 // maximum per record
		fill func(rec []byte)
	}{
		{spec: "8 0:u64", bits: 64 - 14 + 3},
		{spec: "8 0:f64be:desc", bits: 64 - 14 + 3}, // random bits, whose order is that of numbers
		{spec: "4 0:i32", bits: 32 - 14 + 3},
		{spec: "16 0:u128", bits: 128 - 14 + 4},
		{spec: "16 8:u64", bits: 128 - 14 + 4},
		{spec: "5 0:bytes5", bits: 40 - 14 + 4}, // the column has 4 of the 5 bytes
		{spec: "8 0:u16 2:u32", bits: 55},       // the column has 2 of the 6 bytes
		{spec: "16 0:u64", bits: 64 - 14 + 3 + 10, fill: func(rec []byte) { // from -256 to 255
			sign := rec[9] & 1 * 255
			for i := range 7 {
				rec[9+i] = sign
			}
		}},
		// Numbers below 2^16.
		{spec: "16 8:u64", bits: 64 - 14 + 3 + 21, fill: func(rec []byte) { clear(rec[2:8]) }},
		// Only bases.
		{spec: "16 0:u64", bits: 64 - 14 + 3 + 5, fill: func(rec []byte) { copy(rec[8:], "constant") }},
	} {
		k := keyer(t, c.spec)
		p := NewPacker(k.Layout())
		if p == nil {
			t.Skip("nothing is packed on this machine")
		}
		recs := packedRecords(r, n, p.size)["uniform"]
		for rec := range slices.Chunk(recs, p.size) {
			if c.fill != nil {
				c.fill(rec)
			}
		}
		packed := p.Pack(make([]byte, MaxCompressed(len(recs), Delta)), sortRecords(k, recs))
		if got := 8 * float64(len(packed)) / n; got > c.bits {
			t.Errorf("%s: %.1f bits a record, %.1f expected at most", c.spec, got, c.bits)
		}
		if c.fill != nil {
			continue // a sample does not contain bytes outside the key
		}
		got := float64(len(packed)) / float64(len(recs))
		// One of 32 bits, because widths are whole numbers.
		if want := p.Keeps(n); math.Abs(got-want) > 0.035 {
			t.Errorf("%s: %.3f is left, %.3f was foreseen", c.spec, got, want)
		}
	}
}

// TestPackerMaxRecordSize checks the maximum record size: in longer records, the key is only
// a small part.
func TestPackerMaxRecordSize(t *testing.T) {
	for size, want := range map[int]bool{1: true, 128: true, 129: false, 1 << 16: false} {
		if got := NewPacker(Whole(size)) != nil; got != (want && !hostBigEndian) {
			t.Errorf("records of %d bytes: packed: %t, want %t", size, got, want)
		}
	}
}

// TestPackKeeps checks the estimate for runs of no record, of one, and of more than there are
// keys.
func TestPackKeeps(t *testing.T) {
	p := NewPacker(layout(t, "4 0:u32"))
	if p == nil {
		t.Skip("nothing is packed on this machine")
	}
	for _, n := range []float64{0, 1} {
		if got := p.Keeps(n); got != 1 {
			t.Errorf("of %v records %.3f are left", n, got)
		}
	}
	if got := p.Keeps(1e12); got > 0.02 {
		t.Errorf("of keys that are equal %.3f are left", got)
	}
}

func FuzzPack(f *testing.F) {
	specs := layouts()
	f.Add(uint8(0), []byte("0123456789abcdef0123456789abcdef"))
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		p := NewPacker(keyer(t, specs[int(which)%len(specs)]).Layout())
		if p == nil {
			return
		}
		checkPack(t, p, "fuzz", data[:len(data)/p.size*p.size])
		damaged := append(slices.Clone(data), make([]byte, packPadding)...)[:len(data)]
		p.Unpack(make([]byte, 200*p.size), damaged) // may fail, but must not panic
	})
}

func BenchmarkPack(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, spec := range []string{"8 0:u64", "4 0:u32", "8 0:f64:desc", "16 0:u64", "12 8:u32", "100 0:bytes10"} {
		k := keyer(b, spec)
		p := NewPacker(k.Layout())
		n := 256 << 10 / p.size
		recs := sortRecords(k, packedRecords(r, n, p.size)["uniform"])
		room, dst := make([]byte, MaxCompressed(len(recs), Delta)), make([]byte, len(recs))
		packed := p.Pack(room, recs)
		b.Run(fmt.Sprintf("layout=%s/way=in", spec), func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				p.Pack(room, recs)
			}
			b.ReportMetric(float64(len(packed))/float64(len(recs)), "of_its_size")
		})
		b.Run(fmt.Sprintf("layout=%s/way=out", spec), func(b *testing.B) {
			b.SetBytes(int64(len(recs)))
			for b.Loop() {
				p.Unpack(dst, packed)
			}
		})
	}
}
