package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// Generator makes test data. Every record is a function of the seed and its index alone, so any range can be
// made at any time by any goroutine, and the bytes are the same on every machine: all is integer arithmetic,
// but for two exact float operations (an integer of at most 54 bits to float64, times a power of two).
//
// A distribution gives each record a number x of 64 bits, in the order of the layout: for "sorted", x grows
// with the index. x and a hash chain that starts from it are a long string of bits, and the key fields are
// filled from it, most significant first, by mappings that keep the order. So records of equal x have equal
// keys, and "sorted" is in order whatever the fields are (unless fields overlap, when only the most
// significant keep their bits). Integers and bytes take all their bits from the string; an f64 takes 54, an
// f32 25, as evenly spaced numbers from −1 to 1, and for "normal" as numbers of mean 0 and deviation 1.
//
// The payload, bytes outside the key, is pseudo-random by record and position. In the records of gensort (100
// bytes, key 0:bytes10) it has gensort's form:
//
//	00  key     10 bytes
//	10  00 11
//	12  number  32 hexadecimal digits: the index of the record
//	44  88 99 aa bb
//	48  filler  48 bytes: 12 hexadecimal digits, each four times
//	96  cc dd ee ff
type Generator struct {
	layout  Layout
	keyer   *Keyer
	seed    uint64
	records uint64
	number  func(g *Generator, index uint64) uint64
	powers  *[257]uint64 // of zipf
	scale   float64      // of floats
	gensort bool         // the payload is gensort's
	keyBits uint         // what the key fields take of the string of bits
}

// Distributions are the names of the distributions, as NewGenerator takes them.
var Distributions = []string{"uniform", "normal", "zipf", "sorted", "reversed", "nearly-sorted", "few", "equal"}

var distributions = map[string]func(g *Generator, index uint64) uint64{
	"uniform":       (*Generator).stream,
	"normal":        (*Generator).normal,
	"zipf":          (*Generator).zipf,
	"sorted":        (*Generator).sorted,
	"reversed":      (*Generator).reversed,
	"nearly-sorted": (*Generator).nearlySorted,
	"few":           (*Generator).few,
	"equal":         (*Generator).equal,
}

// NewGenerator makes the Generator of a data set of so many records. dist is one of Distributions.
func NewGenerator(layout Layout, dist string, seed uint64, records int64) (*Generator, error) {
	k, err := NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	number, ok := distributions[dist]
	if !ok {
		return nil, fmt.Errorf("unknown distribution %q: use %s", dist, strings.Join(Distributions, ", "))
	}
	if records < 0 {
		return nil, fmt.Errorf("%d records cannot be made", records)
	}
	g := &Generator{layout: layout, keyer: k, seed: mix(seed), records: uint64(records), number: number, scale: 1,
		gensort: layout.String() == gensortLayout.String()}
	for _, f := range layout.Key {
		g.keyBits += bitsOf(f)
	}
	switch dist {
	case "normal":
		g.scale = normalSpan
	case "zipf":
		g.powers = powers()
	}
	return g, nil
}

// Fill makes the records from index first on, as many as dst has room for. It is safe for concurrent use.
// REQUIRES: len(dst) is a multiple of RecordSize; the records are among those that NewGenerator was told of.
func (g *Generator) Fill(dst []byte, first int64) {
	var xs [blockKeys]uint64
	size := g.layout.RecordSize
	for i := uint64(first); len(dst) > 0; {
		n := min(len(dst)/size, blockKeys)
		for j := range xs[:n] {
			xs[j] = g.number(g, i+uint64(j))
		}
		g.putRecords(dst[:n*size], xs[:n], i)
		dst, i = dst[n*size:], i+uint64(n)
	}
}

func (g *Generator) putRecords(dst []byte, xs []uint64, first uint64) {
	size := g.layout.RecordSize
	if g.layout.IsBare() && size <= 8 {
		g.bareKeys(xs)
		g.keyer.Records(dst, xs)
		return
	}
	for i, x := range xs {
		rec := dst[i*size : (i+1)*size]
		switch {
		case g.gensort:
			gensortPayload(rec, g.seed, first+uint64(i))
		case !g.layout.IsBare():
			g.payload(rec, first+uint64(i))
		}
		g.putKey(rec, x)
	}
}

// bareKeys turns numbers into the normalized keys of bare records.
func (g *Generator) bareKeys(xs []uint64) {
	f := g.layout.Key[0]
	if f.Type.Kind != Float {
		down := uint(64 - 8*f.Type.Size)
		for i := range xs {
			xs[i] >>= down
		}
		return
	}
	p, down := g.keyer.prefix[0], 64-floatDigits(f.Type)
	for i, x := range xs {
		xs[i] = p.normalized(g.floatBits(f, x>>down))
	}
}

// floatDigits is how many bits of the string of bits a float takes: one for the sign and those of its fraction.
func floatDigits(t Type) uint {
	if t.Size == 4 {
		return 25
	}
	return 54
}

// floatBits is the bit pattern of the float that stands at place u of the evenly spaced ones in field f.
func (g *Generator) floatBits(f Field, u uint64) uint64 {
	digits := floatDigits(f.Type)
	if f.Desc {
		u ^= lowBits(int(digits))
	}
	half := int64(1) << (digits - 1)
	v := float64(int64(u)-half) * (g.scale / float64(half)) // exact: the factor is a power of two
	if f.Type.Size == 4 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// chainBits is bits from to from+n, 1 ≤ n ≤ 64, of x followed by a chain of hashes of x.
func chainBits(x uint64, from, n uint) uint64 {
	first, skip := from/64, from%64
	v := link(x, first) << skip
	if skip+n > 64 {
		v |= link(x, first+1) >> (64 - skip)
	}
	return v >> (64 - n)
}

func link(x uint64, i uint) uint64 {
	if i == 0 {
		return x
	}
	return mix(x + uint64(i)*golden)
}

// bitsOf is how many bits of the string a field takes.
func bitsOf(f Field) uint {
	if f.Type.Kind == Float {
		return floatDigits(f.Type)
	}
	return uint(8 * f.Type.Size)
}

// putKey fills the key fields. The least significant field is written first, so that where fields overlap the
// more significant one has its way.
func (g *Generator) putKey(rec []byte, x uint64) {
	at := g.keyBits
	for i := len(g.layout.Key) - 1; i >= 0; i-- {
		f := &g.layout.Key[i]
		at -= bitsOf(*f)
		g.putField(rec[f.Offset:f.Offset+f.Type.Size], f, x, at)
	}
}

// putField fills a field from bit at of the string.
func (g *Generator) putField(dst []byte, f *Field, x uint64, at uint) {
	littleEndian := f.Type.littleEndian()
	if f.Type.Kind == Float {
		putNumber(dst, g.floatBits(*f, chainBits(x, at, floatDigits(f.Type))), littleEndian)
		return
	}
	for done := 0; done < len(dst); done += 8 {
		n := min(8, len(dst)-done)
		v := chainBits(x, at+uint(8*done), uint(8*n))
		if f.Desc {
			v = ^v
		}
		if f.Type.Kind == Signed && done == 0 {
			v ^= 1 << uint(8*n-1)
		}
		from := done
		if littleEndian {
			from = len(dst) - done - n
		}
		putNumber(dst[from:from+n], v, littleEndian)
	}
}

// putNumber writes the low bytes of v.
func putNumber(dst []byte, v uint64, littleEndian bool) {
	var b [8]byte
	if littleEndian {
		binary.LittleEndian.PutUint64(b[:], v)
		copy(dst, b[:])
	} else {
		binary.BigEndian.PutUint64(b[:], v)
		copy(dst, b[8-len(dst):])
	}
}

// payload fills a whole record; the key is written over it.
func (g *Generator) payload(rec []byte, index uint64) {
	words := uint64(len(rec)+7) / 8
	state := g.seed ^ payloadSeed + index*words*golden
	for ; len(rec) >= 8; rec = rec[8:] {
		binary.LittleEndian.PutUint64(rec, mix(state))
		state += golden
	}
	putNumber(rec, mix(state), true)
}

const hexDigits = "0123456789ABCDEF"

func gensortPayload(rec []byte, seed, index uint64) {
	rec[10], rec[11] = 0x00, 0x11
	for i := range 16 {
		rec[12+i] = '0'
		rec[28+i] = hexDigits[index>>(60-4*i)&15]
	}
	binary.BigEndian.PutUint32(rec[44:], 0x8899aabb)
	v := mix(seed ^ payloadSeed + index*golden)
	for i := range 12 {
		c := uint32(hexDigits[v>>(4*i)&15])
		binary.LittleEndian.PutUint32(rec[48+4*i:], c*0x01010101)
	}
	binary.BigEndian.PutUint32(rec[96:], 0xccddeeff)
}
