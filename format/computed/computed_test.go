package computed

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// skilling returns the position of a point on the Hilbert curve, as Skilling's paper computes it.
func skilling(x []uint32, width int) *big.Int {
	x = slices.Clone(x)
	n := len(x)
	for q := uint32(1) << (width - 1); q > 1; q >>= 1 {
		p := q - 1
		for i := range n {
			if x[i]&q != 0 {
				x[0] ^= p
				continue
			}
			t := (x[0] ^ x[i]) & p
			x[0] ^= t
			x[i] ^= t
		}
	}
	for i := 1; i < n; i++ {
		x[i] ^= x[i-1]
	}
	t := uint32(0)
	for q := uint32(1) << (width - 1); q > 1; q >>= 1 {
		if x[n-1]&q != 0 {
			t ^= q - 1
		}
	}
	position := new(big.Int)
	for level := width - 1; level >= 0; level-- {
		for i := range n {
			position.Lsh(position, 1)
			position.SetBit(position, 0, uint((x[i]^t)>>level&1))
		}
	}
	return position
}

// interleaved returns the position of a point on the Z-order curve, bit by bit.
func interleaved(x []uint32, width int) *big.Int {
	position := new(big.Int)
	for i := range width {
		for d, v := range x {
			position.SetBit(position, i*len(x)+d, uint(v>>i&1))
		}
	}
	return position
}

// pointsOf returns the program of a curve whose dimensions are u32 with the widest ranges, so that
// coordinates are cells.
func pointsOf(t *testing.T, curve string, n, width int) *Program {
	t.Helper()
	var fields []string
	for d := range n {
		fields = append(fields, fmt.Sprintf("%d:u32=0:%d", 4*d, uint64(1)<<width-1))
	}
	return bound(t, fmt.Sprintf("%s(%s,bits=%d)", curve, strings.Join(fields, ","), width), 4*n)
}

// bound returns the program of a key of plain records of size bytes.
func bound(t *testing.T, key string, size int) *Program {
	t.Helper()
	p, err := bind(key, size)
	if err != nil {
		t.Fatal(err)
	}
	p.Ready()
	return p
}

func bind(key string, size int) (*Program, error) {
	keys, err := Parse([]string{key})
	if err != nil {
		return nil, err
	}
	header, err := format.Spec{RecordSize: size, Keys: keys.Fields()}.NewHeader()
	if err != nil {
		return nil, err
	}
	return keys.Bind(header.Layout())
}

// keysOf returns the computed keys of records.
func keysOf(p *Program, recs []byte) (keys []*big.Int) {
	n := len(recs) / p.recordSize
	longer := make([]byte, n*p.Layout.RecordSize)
	p.Append(longer, recs)
	for rec := range slices.Chunk(longer, p.Layout.RecordSize) {
		key := slices.Clone(rec[p.recordSize:])
		slices.Reverse(key)
		keys = append(keys, new(big.Int).SetBytes(key))
	}
	return keys
}

// TestCurves compares random points with other ways to compute their positions.
func TestCurves(t *testing.T) {
	t.Parallel()
	for curve, position := range map[string]func([]uint32, int) *big.Int{"hilbert": skilling, "morton": interleaved} {
		for n := 2; n <= maxDimensions; n++ {
			for _, width := range []int{16, 32} {
				p := pointsOf(t, curve, n, width)
				random := rand.New(rand.NewPCG(uint64(n), uint64(width)))
				var recs []byte
				var points [][]uint32
				for i := range 1000 {
					point := make([]uint32, n)
					for d := range point {
						point[d] = random.Uint32() >> (32 - width) >> (random.IntN(width) * (i % 2))
						recs = binary.LittleEndian.AppendUint32(recs, point[d])
					}
					points = append(points, point)
				}
				for i, key := range keysOf(p, recs) {
					if want := position(points[i], width); key.Cmp(want) != 0 {
						t.Fatalf("%s of %v with %d bits: %x, want %x", curve, points[i], width, key, want)
					}
				}
			}
		}
	}
}

// TestHilbertIsACurve checks on whole grids that each position occurs once, and that neighbours on
// the curve are neighbours in space.
func TestHilbertIsACurve(t *testing.T) {
	t.Parallel()
	for n := 2; n <= maxDimensions; n++ {
		table := hilbertTables[n]()
		for width := table.levels; n*width <= 16; width += table.levels {
			cells := 1 << (n * width)
			points := make([][]uint32, cells)
			var b block
			for cell := range cells {
				b.n = 1
				point := make([]uint32, n)
				for d := range point {
					point[d] = uint32(cell>>(d*width)) & (1<<width - 1)
					b.cells[d][0] = point[d]
				}
				if n == 2 {
					table.plane(&b, width)
				} else {
					table.space(&b, n, width)
				}
				if points[b.low[0]] != nil {
					t.Fatalf("%d dimensions, %d bits: position %d occurs twice", n, width, b.low[0])
				}
				points[b.low[0]] = point
			}
			for i := 1; i < cells; i++ {
				steps := 0
				for d := range n {
					steps += max(int(points[i][d])-int(points[i-1][d]), int(points[i-1][d])-int(points[i][d]))
				}
				if steps != 1 {
					t.Fatalf("%d dimensions, %d bits: %v follows %v", n, width, points[i], points[i-1])
				}
			}
		}
	}
}

// TestCells checks which cell each value belongs to. A curve of two equal dimensions, of which the
// other has only one cell, shows them.
func TestCells(t *testing.T) {
	t.Parallel()
	f32 := func(values ...float32) (recs []byte) {
		for _, v := range values {
			recs = binary.LittleEndian.AppendUint32(recs, math.Float32bits(v))
		}
		return recs
	}
	f64 := func(values ...float64) (recs []byte) {
		for _, v := range values {
			recs = binary.BigEndian.AppendUint64(recs, math.Float64bits(v))
		}
		return recs
	}
	nan := math.NaN()
	inf := math.Inf(1)
	const last = 1<<16 - 1
	const isNaN = -1
	for _, row := range []struct {
		field string
		recs  []byte
		want  []int64
	}{
		{"0:f32=-180:180", f32(-180, 0, 180, -200, 200, 179.999), []int64{0, 1 << 15, last, 0, last, last}},
		{"0:f32", f32(-1, 1, 0), []int64{0, last, 1 << 15}},
		{"0:f32", f32(5, 5), []int64{0, 0}},
		{"0:f32", nil, nil},
		{"0:f64be", f64(nan, -1, inf, 1, -inf, -nan), []int64{isNaN, 0, last, last, 0, isNaN}},
		{"0:f64be", f64(nan, inf), []int64{isNaN, 0}},
		{"0:f64be", f64(-math.MaxFloat64, 0, math.MaxFloat64), []int64{0, 1 << 15, last}},
		{"0:f64be", f64(0, math.SmallestNonzeroFloat64), []int64{0, 0}},
		{"0:f64be=0:0x1p-1000", f64(0, 0x1p-1001, 0x1p-1000), []int64{0, 1 << 15, last}},
		{"0:u8", []byte{7, 3, 10}, []int64{1 << 15, 0, 7 << 13}},
		{"0:u8=0:255", []byte{0, 1, 255}, []int64{0, 256, 255 << 8}},
		{"0:i8=-4:3", []byte{0xfc, 0x00, 0x7f, 0x80}, []int64{0, 1 << 15, 7 << 13, 0}},
		{"0:u16be=0:65535", []byte{0x12, 0x34, 0xff, 0xff}, []int64{0x1234, last}},
		{"0:i64be", f64(nan)[:8], []int64{0}},
		{"0:u64be=0:18446744073709551615", []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\x00\x00"),
			[]int64{last, 1 << 15}},
		{"0:time_msbe", append(append(make([]byte, 7), 1, 0x80), append(make([]byte, 14), 2)...), []int64{0, isNaN, 1 << 15}},
		{"0:bf16=0:2", []byte{0x80, 0x3f, 0x00, 0x40, 0x80, 0x7f, 0x81, 0x7f}, []int64{1 << 15, last, last, isNaN}},
		{"0:f16", []byte{0x00, 0x3c, 0x00, 0x40, 0x00, 0x7c, 0x00, 0xfe}, []int64{0, last, last, isNaN}},
		{"0:u24=0:65535", []byte{0x01, 0x02, 0x00, 0x00, 0x00, 0x01}, []int64{0x0201, last}},
	} {
		offset, _, _ := strings.Cut(row.field, ":")
		name, _, _ := strings.Cut(row.field[len(offset)+1:], "=")
		size := map[byte]int{'8': 1, '6': 2, '4': 3, '2': 4}[name[len(name)-1]]
		if typ, err := format.ParseType(name); err == nil {
			size = typ.Size
		}
		p, err := bind("morton("+row.field+","+row.field+",bits=16)", size)
		if err != nil {
			t.Errorf("%s: %v", row.field, err)
			continue
		}
		p.Observe(row.recs)
		p.Ready()
		for i, key := range keysOf(p, row.recs) {
			want := uint64(math.MaxUint64)
			if row.want[i] != isNaN {
				want = interleaved([]uint32{uint32(row.want[i]), uint32(row.want[i])}, 16).Uint64()
			}
			if key.Uint64() != want {
				t.Errorf("%s: record %d has key %x, want %x", row.field, i, key, want)
			}
		}
	}
}

// TestBitsAndHashes compares the other functions with loops.
func TestBitsAndHashes(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	recs := formattest.Bytes(random, 16*1000)
	reversed := func(width int, number func(rec []byte) uint64) func(rec []byte) uint64 {
		return func(rec []byte) uint64 { return bits.Reverse64(number(rec)) >> (64 - width) }
	}
	for key, want := range map[string]func(rec []byte) uint64{
		"bit_reverse(3:u64)":    reversed(64, func(rec []byte) uint64 { return binary.LittleEndian.Uint64(rec[3:]) }),
		"bit_reverse(3:i32)":    reversed(32, func(rec []byte) uint64 { return uint64(binary.LittleEndian.Uint32(rec[3:])) }),
		"bit_reverse(15:u8)":    reversed(8, func(rec []byte) uint64 { return uint64(rec[15]) }),
		"bit_reverse(1:i16be)":  reversed(16, func(rec []byte) uint64 { return uint64(binary.BigEndian.Uint16(rec[1:])) }),
		"xxh64(2:bytes9)":       func(rec []byte) uint64 { return xxhash.Sum64(rec[2:11]) },
		"xxh64(8:f64)":          func(rec []byte) uint64 { return xxhash.Sum64(rec[8:]) },
		"xxh64(9:u16,0:u32be)":  func(rec []byte) uint64 { return xxhash.Sum64(slices.Concat(rec[9:11], rec[:4])) },
		"xxh64( 0:u8 , 0:u8 )":  func(rec []byte) uint64 { return xxhash.Sum64([]byte{rec[0], rec[0]}) },
		"xxh64(0:bytes16):desc": func(rec []byte) uint64 { return xxhash.Sum64(rec) },
	} {
		p := bound(t, key, 16)
		for i, got := range keysOf(p, recs) {
			if w := want(recs[i*16 : i*16+16]); got.Uint64() != w {
				t.Fatalf("%s: record %d has key %x, want %x", key, i, got, w)
			}
		}
	}
	if got := keysOf(bound(t, "xxh64(0:bytes3)", 3), []byte("abc")); got[0].Uint64() != 0x44bc2cf5ad770999 {
		t.Errorf("the XXH64 of abc is %x", got[0])
	}
}

// TestErrors checks the messages for invalid keys.
func TestErrors(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"hilbert(0:u8)":                 "hilbert needs 2 to 4 fields, not 1, for example hilbert(lon,lat)",
		"hilbert()":                     "a field is missing",
		"morton(0:u8,,1:u8)":            "a field is missing",
		"bit_reverse(0:u8,1:u8)":        "bit_reverse needs 1 field, not 2",
		"hilbert(0:u8,1:u8,bits=8)":     "bits=8: a dimension has 16 or 32 bits",
		"hilbert(0:u8,1:u8=3)":          "1:u8=3: want FIELD=LOW:HIGH",
		"hilbert(0:u8,1:u8=3:)":         "want FIELD=LOW:HIGH",
		"hilbert(0:u8,1:u8=3:3)":        "the range 3:3 of 1:u8 is empty",
		"hilbert(0:u8,1:u8=3:256)":      `"256" is not a finite number of type u8, the type of 1:u8`,
		"hilbert(0:u8,1:f32=0:inf)":     `"inf" is not a finite number of type f32`,
		"hilbert(0:u8,1:f32=0:1e39)":    `"1e39" is not a finite number of type f32`,
		"hilbert(0:u8:desc,1:u8)":       "a direction follows the whole key: hilbert(lon,lat):desc",
		"xxh64(0:u8=1:2)":               "xxh64 has no options: leave =1:2 out",
		"hilbert(0:u8,1:bytes2)":        "1:bytes2 has type bytes2, but hilbert needs a number of at most 64 bits",
		"morton(0:u8,0:u128)":           "0:u128 has type u128, but morton needs a number of at most 64 bits",
		"bit_reverse(0:f64)":            "0:f64 has type f64, but bit_reverse needs an integer of at most 64 bits",
		"hilbert(0:u8,15:u16)":          "needs 2 bytes from byte 15 on",
		"hilbert(0:u8,1:u7)":            "unknown type",
		"morton(0:u8,0:u8,0:u8,0:u8,0)": "morton needs 2 to 4 fields, not 5",
	} {
		if _, err := bind(key, 16); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 160 {
			t.Errorf("%s: %v, want %q", key, err, want)
		}
	}
	for _, key := range []string{"hilbrt(0:u8,1:u8)", "0:u8", "name", "flux(Jy)", "hilbert", "hilbert(x,y):down", "f)"} {
		if keys, err := Parse([]string{key}); keys != nil || err != nil {
			t.Errorf("%s is a computed key: %v", key, err)
		}
	}
	if keys, err := Parse([]string{"a:desc", "xxh64(b,c):desc", "d"}); err != nil || keys.Count() != 1 ||
		!slices.Equal(keys.Fields(), []string{"a:desc", "b", "c", "d"}) {
		t.Errorf("a list of keys has the fields %v: %v", keys, err)
	}
}

// BenchmarkAppend measures the computation of the keys of 24-byte records.
func BenchmarkAppend(b *testing.B) {
	const size = 24
	recs := make([]byte, size*2048)
	random := rand.New(rand.NewPCG(1, 2))
	for at := 0; at < len(recs); at += 8 {
		binary.LittleEndian.PutUint64(recs[at:], math.Float64bits(random.Float64()))
	}
	for _, key := range []string{
		"hilbert(0:f64,8:f64)", "hilbert(0:f64,8:f64,bits=16)", "hilbert(0:f64,8:f64,16:f64)",
		"hilbert(0:f64,8:f64,16:f64,bits=32)", "hilbert(0:f64,8:f64,16:f64,0:f64)",
		"morton(0:f64,8:f64)", "morton(0:f64,8:f64,16:f64)", "bit_reverse(16:u64)", "xxh64(16:u64)",
	} {
		b.Run(key, func(b *testing.B) {
			p, err := bind(key, size)
			if err != nil {
				b.Fatal(err)
			}
			p.Observe(recs)
			p.Ready()
			longer := make([]byte, len(recs)/size*p.Layout.RecordSize)
			b.ResetTimer()
			for b.Loop() {
				p.Append(longer, recs)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(recs)/size), "ns/record")
		})
	}
}
