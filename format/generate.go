package format

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strings"
	"sync"
)

// Generator makes test data. Every record is a function of the seed and its index alone, so any range can be
// made at any time by any goroutine, and the bytes are the same on every machine: all is integer arithmetic,
// but for two exact float operations (an integer of at most 54 bits to float64, times a power of two).
//
// A distribution gives each record a number x of 64 bits, in the order of the layout: for "sorted", x grows
// with the index. x and a hash chain that starts from it are a long string of bits, and the key fields are
// filled from it, most significant first, by mappings that keep the order. So records of equal x have equal
// keys, and "sorted" is in order whatever the fields are (unless fields overlap, when only the most
// significant keep their bits). Integers and bytes take all their bits from the string; an f64 and an f80 take 54, an
// f32 25, an f16 12 and a bf16 9, as evenly spaced numbers from −1 to 1, and for "normal" as numbers of mean 0
// and deviation 1.
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
		return nil, fmt.Errorf("cannot generate %d records", records)
	}
	g := &Generator{layout: layout, keyer: k, seed: mix(seed), records: uint64(records), number: number, scale: 1,
		gensort: layout.String() == gensortLayout.String()}
	for i := range k.pieces {
		g.keyBits += k.pieces[i].digits()
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
		g.payloads(dst[:n*size], i)
		g.putKeys(dst[:n*size], xs[:n])
		dst, i = dst[n*size:], i+uint64(n)
	}
}

// putKeys fills the key fields, piece by piece. The least significant is written first, so that where fields
// overlap the more significant one has its way.
func (g *Generator) putKeys(recs []byte, xs []uint64) {
	var memory [blockKeys]uint64
	numbers, at := memory[:len(xs)], g.keyBits
	for i := len(g.keyer.pieces) - 1; i >= 0; i-- {
		p := &g.keyer.pieces[i]
		n := p.digits()
		at -= n
		if p.wide != nil {
			g.putWide(recs, xs, p.wide, at)
			continue
		}
		for j, x := range xs {
			v := chainBits(x, at, n)
			if p.isFloat() {
				v = p.normalized(g.floatBits(p, v))
			}
			numbers[j] = v
		}
		p.scatter(recs, numbers, g.layout.RecordSize)
	}
}

// wideDigits is how many bits of the string an Extended takes: as many as an f64.
const wideDigits = 54

// putWide fills an Extended and its padding, which is zeros. at is where it is in the string of bits.
func (g *Generator) putWide(recs []byte, xs []uint64, w *wideFloat, at uint) {
	if w.low {
		return // the piece before it fills all
	}
	t := w.field.Type
	for i, x := range xs {
		high, low := wideBits(g.evenFloat(chainBits(x, at, wideDigits), wideDigits, w.field.Desc))
		rec := recs[i*g.layout.RecordSize:]
		clear(rec[w.field.Offset:][:t.Size])
		if t.BigEndian {
			binary.BigEndian.PutUint16(rec[w.start:], high)
			binary.BigEndian.PutUint64(rec[w.start+2:], low)
		} else {
			binary.LittleEndian.PutUint64(rec[w.start:], low)
			binary.LittleEndian.PutUint16(rec[w.start+8:], high)
		}
	}
}

func (p *piece) isFloat() bool { return p.fraction != 0 }

// digits is how many bits of the string a piece takes: of a float one for the sign and those of its fraction.
func (p *piece) digits() uint {
	if p.wide != nil {
		if p.wide.low {
			return 0
		}
		return wideDigits
	}
	if !p.isFloat() {
		return 64 - uint(p.up)
	}
	return p.fraction + 2
}

// evenFloat is the float at place u of the 2^digits evenly spaced ones.
func (g *Generator) evenFloat(u uint64, digits uint, desc bool) float64 {
	if desc {
		u ^= lowBits(int(digits))
	}
	half := int64(1) << (digits - 1)
	return float64(int64(u)-half) * (g.scale / float64(half)) // exact: the factor is a power of two
}

// floatBits is the bit pattern of the float that stands at place u of the evenly spaced ones.
func (g *Generator) floatBits(p *piece, u uint64) uint64 {
	v := g.evenFloat(u, p.digits(), p.flip == p.spread)
	bits := uint64(math.Float32bits(float32(v)))
	switch p.fraction {
	case 52:
		return math.Float64bits(v)
	case 10: // from 8 bits of exponent to 5; none is so small that these do not have it
		return bits>>16&0x8000 | (max(bits&0x7fffffff>>13, 112<<10) - 112<<10)
	}
	return bits >> (32 - 8*p.size)
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

// payloads fills whole records, of which the first has the index first; their keys are written over it.
func (g *Generator) payloads(recs []byte, first uint64) {
	size := uint64(g.layout.RecordSize)
	if g.layout.IsBare() {
		return
	}
	for i := first; len(recs) > 0; i++ {
		if g.gensort {
			gensortPayload(recs, g.seed, i)
		} else {
			g.payload(recs[:size], i)
		}
		recs = recs[size:]
	}
}

func (g *Generator) payload(rec []byte, index uint64) {
	words := uint64(len(rec)+7) / 8
	state := g.seed ^ payloadSeed + index*words*golden
	for ; len(rec) >= 8; rec = rec[8:] {
		binary.LittleEndian.PutUint64(rec, mix(state))
		state += golden
	}
	copy(rec, binary.LittleEndian.AppendUint64(nil, mix(state)))
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

// Each distribution gives the record with an index its number.

const (
	golden      = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd: the step of SplitMix64
	valueSeed   = 0x5851f42d4c957f2d // seeds of streams that must not meet
	choiceSeed  = 0x14057b7ef767814f
	payloadSeed = 0x2545f4914f6cdd1d

	fewValues    = 16
	zipfOctaves  = 24  // ranks from 1 to 2^24
	nearlySorted = 128 // one record in so many is anywhere
	normalSpan   = 8   // deviations on either side of the mean that the range of numbers stands for
)

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
// 2014), in Stafford's variant 13. mix(seed+i·golden) is the i-th number of a SplitMix64 generator.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stream is the number of a record in the stream of random numbers of a seed.
func (g *Generator) stream(index uint64) uint64 { return mix(g.seed + index*golden) }

// value is one of a few numbers, anywhere in the range.
func (g *Generator) value(which uint64) uint64 { return mix(g.seed ^ valueSeed + which*golden) }

// normal adds twelve uniform numbers from 0 to 1, of 32 bits each: the variance of the sum is 1.
func (g *Generator) normal(index uint64) uint64 {
	var sum, last uint64
	for i := range uint64(6) {
		last = g.stream(6*index + i)
		sum += last>>32 + last&0xffffffff
	}
	// sum − 6 is normal, in steps of 2^−32; with normalSpan added it takes 36 bits.
	sum += (normalSpan - 6) << 32
	return sum<<28 | mix(last)>>36
}

// zipf chooses rank r from 1 to 2^24 with a probability of nearly 1/r: the logarithm of the rank is uniform.
// Each rank has a key of its own, anywhere in the range.
func (g *Generator) zipf(index uint64) uint64 {
	table := g.powers
	octave, fraction := bits.Mul64(g.stream(index), zipfOctaves)
	at := fraction >> 56
	between, _ := bits.Mul64(table[at+1]-table[at], fraction<<8)
	return g.value((table[at] + between) >> (62 - octave))
}

// powers has 2^(i/256) in units of 2^−62, as geometric means of its neighbours: integers only, so that they
// are the same everywhere.
var powers = sync.OnceValue(func() *[257]uint64 {
	var t [257]uint64
	t[0], t[256] = 1<<62, 1<<63
	for step := 128; step > 0; step /= 2 {
		for at := step; at < 256; at += 2 * step {
			product := new(big.Int).Mul(new(big.Int).SetUint64(t[at-step]), new(big.Int).SetUint64(t[at+step]))
			t[at] = product.Sqrt(product).Uint64()
		}
	}
	return &t
})

// sorted spreads the records evenly and moves each by chance within its part of the range.
func (g *Generator) sorted(index uint64) uint64 {
	step := ^uint64(0) / max(g.records, 1)
	jitter, _ := bits.Mul64(g.stream(index), step)
	return index*step + jitter
}

func (g *Generator) reversed(index uint64) uint64 { return g.sorted(g.records - 1 - index) }

func (g *Generator) nearlySorted(index uint64) uint64 {
	if choice := mix(g.seed ^ choiceSeed + index*golden); choice%nearlySorted == 0 {
		return mix(choice)
	}
	return g.sorted(index)
}

func (g *Generator) few(index uint64) uint64 { return g.value(g.stream(index) % fewValues) }

func (g *Generator) equal(uint64) uint64 { return g.value(0) }
