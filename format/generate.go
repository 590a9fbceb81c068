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

// A Generator generates test data. Every record depends only on the seed and its index, so
// several goroutines can generate any ranges in parallel. The bytes are the same on every
// machine, because everything is integer arithmetic except for two exact float operations
// (converting an integer of at most 54 bits to float64, and multiplying by a power of two).
//
// A distribution assigns each record a 64-bit number x, in the order of the layout: for "sorted",
// x grows with the index. x followed by a chain of hashes that starts from x forms a long bit
// string. The key fields are filled from this string, most significant first, by mappings that
// preserve the order. So records with equal x have equal keys, and "sorted" is in order for any
// fields (unless fields overlap; then only the most significant one keeps its bits). Integers and
// bytes take all their bits from the string. An f64 and an f80 take 54 bits, an f32 25, an f16 12
// and a bf16 9, as evenly spaced numbers from −1 to 1, or for "normal" as numbers with mean 0 and
// standard deviation 1.
//
// The payload (the bytes outside the key) is pseudo-random and depends on the record and the
// position. For the records of gensort (100 bytes, key 0:bytes10) it has the form of gensort:
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
	powers  *[257]uint64 // for zipf
	scale   float64      // scale of floats
	gensort bool         // the payload has the form of gensort
	keyBits uint         // number of bits of the string that the key fields take
}

// Distributions lists the names of the distributions that NewGenerator accepts.
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

// NewGenerator returns a Generator for a data set with the given number of records. dist is one
// of Distributions.
func NewGenerator(
	layout Layout,
	dist string,
	seed uint64,
	records int64,
) (*Generator, error) {
	k, err := NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	number, ok := distributions[dist]
	if !ok {
		return nil, fmt.Errorf(
			"unknown distribution %q: use %s", dist, strings.Join(Distributions, ", "),
		)
	}
	if records < 0 {
		return nil, fmt.Errorf("cannot generate %d records", records)
	}
	g := &Generator{
		layout:  layout,
		keyer:   k,
		seed:    mix(seed),
		records: uint64(records),
		number:  number,
		scale:   1,
		gensort: layout.String() == gensortLayout.String(),
	}
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

// Fill generates records from index first on until dst is full. It is safe for concurrent use.
// REQUIRES: len(dst) is a multiple of RecordSize; the records exist in the data set
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
		dst = dst[n*size:]
		i += uint64(n)
	}
}

// putKeys fills the key fields piece by piece. It writes the least significant piece first, so
// that the more significant one wins if fields overlap.
func (g *Generator) putKeys(recs []byte, xs []uint64) {
	var memory [blockKeys]uint64
	numbers := memory[:len(xs)]
	at := g.keyBits

	for i := len(g.keyer.pieces) - 1; i >= 0; i-- {
		p := &g.keyer.pieces[i]
		n := p.digits()
		at -= n

		if p.wide != nil {
			g.putWide(recs, xs, p.wide, at)
			continue
		}
		if p.decimal != nil {
			g.putDecimal(recs, xs, p.decimal, at)
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

// wideDigits is the number of bits of the string that an Extended takes: the same as an f64.
const wideDigits = 54

// putWide fills an Extended and sets its padding to zeros. at is its position in the bit string.
func (g *Generator) putWide(recs []byte, xs []uint64, w *wideFloat, at uint) {
	if w.low {
		return // the piece before it fills the whole value
	}
	t := w.field.Type
	for i, x := range xs {
		high, low := wideBits(
			g.evenFloat(chainBits(x, at, wideDigits), wideDigits, w.field.Desc),
		)
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

// putDecimal fills a decimal with a number of the bits that it takes. at is its position in the bit
// string.
func (g *Generator) putDecimal(
	recs []byte,
	xs []uint64,
	d *decimalPiece,
	at uint,
) {
	n := d.generatedBits()
	if n == 0 {
		return // the piece before it fills the whole value
	}
	t := d.field.Type
	for i, x := range xs {
		number := chainBits(x, at, n)
		if d.field.Desc {
			number ^= lowBits(int(n))
		}
		value := int64(number) - 1<<(n-1)
		PutDecimal(
			recs[i*g.layout.RecordSize+d.field.Offset:][:t.Size],
			t,
			value,
		)
	}
}

func (p *piece) isFloat() bool { return p.fraction != 0 }

// digits returns the number of bits of the string that a piece takes. A float takes one for the
// sign, plus the bits of its fraction.
func (p *piece) digits() uint {
	if p.wide != nil {
		if p.wide.low {
			return 0
		}
		return wideDigits
	}
	if p.decimal != nil {
		return p.decimal.generatedBits()
	}

	if !p.isFloat() {
		return 64 - uint(p.signShift)
	}
	return p.fraction + 2
}

// evenFloat returns number u of the 2^digits evenly spaced floats.
func (g *Generator) evenFloat(u uint64, digits uint, desc bool) float64 {
	if desc {
		u ^= lowBits(int(digits))
	}
	half := int64(1) << (digits - 1)
	return float64(int64(u)-half) * (g.scale / float64(half)) // exact: the factor is a power of two
}

// floatBits returns the bit pattern of number u of the evenly spaced floats.
func (g *Generator) floatBits(p *piece, u uint64) uint64 {
	v := g.evenFloat(u, p.digits(), p.flip == p.spread)
	bits := uint64(math.Float32bits(float32(v)))
	switch p.fraction {
	case 52:
		return math.Float64bits(v)
	case 10: // from 8 bits of exponent to 5; all values are large enough for that
		return bits>>16&0x8000 | (max(bits&0x7fffffff>>13, 112<<10) - 112<<10)
	}
	return bits >> (32 - 8*p.size)
}

// chainBits returns the bits [from, from+n), 1 ≤ n ≤ 64, of x followed by a chain of hashes of x.
func chainBits(x uint64, from, n uint) uint64 {
	first := from / 64
	skip := from % 64
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

// payloads fills whole records; first is the index of the first one. The keys are written over
// them later.
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
	rec[10] = 0x00
	rec[11] = 0x11
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

// The distributions assign a number to each record.

const (
	golden      = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd: the increment of SplitMix64
	valueSeed   = 0x5851f42d4c957f2d // seeds of independent streams
	choiceSeed  = 0x14057b7ef767814f
	payloadSeed = 0x2545f4914f6cdd1d

	fewValues    = 16
	zipfOctaves  = 24  // ranks from 1 to 2^24
	nearlySorted = 128 // one of this many records has a random position
	// the range of numbers represents this many standard deviations on either side of the mean
	normalSpan = 8
)

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number
// Generators, 2014) in Stafford's variant 13. mix(seed+i·golden) is number i of a SplitMix64
// generator.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// stream returns the number of a record in the stream of random numbers of the seed.
func (g *Generator) stream(index uint64) uint64 {
	return mix(g.seed + index*golden)
}

// value returns one of a few numbers anywhere in the range.
func (g *Generator) value(which uint64) uint64 {
	return mix(g.seed ^ valueSeed + which*golden)
}

// normal adds twelve uniform numbers from 0 to 1 of 32 bits each. The variance of the sum is 1.
func (g *Generator) normal(index uint64) uint64 {
	var sum, last uint64
	for i := range uint64(6) {
		last = g.stream(6*index + i)
		sum += last>>32 + last&0xffffffff
	}
	// sum − 6 is normally distributed, in steps of 2^−32. With normalSpan added it takes 36 bits.
	sum += (normalSpan - 6) << 32
	return sum<<28 | mix(last)>>36
}

// zipf chooses a rank r from 1 to 2^24 with a probability of nearly 1/r: the logarithm of the
// rank is uniform. Each rank has its own key anywhere in the range.
func (g *Generator) zipf(index uint64) uint64 {
	table := g.powers
	octave, fraction := bits.Mul64(g.stream(index), zipfOctaves)
	at := fraction >> 56
	between, _ := bits.Mul64(table[at+1]-table[at], fraction<<8)
	return g.value((table[at] + between) >> (62 - octave))
}

// powers contains 2^(i/256) in units of 2^−62. Each is the geometric mean of its neighbors. The
// computation uses only integers, so the result is the same on all machines.
var powers = sync.OnceValue(func() *[257]uint64 {
	var t [257]uint64
	t[0] = 1 << 62
	t[256] = 1 << 63
	for step := 128; step > 0; step /= 2 {
		for at := step; at < 256; at += 2 * step {
			product := new(big.Int).Mul(
				new(big.Int).SetUint64(t[at-step]), new(big.Int).SetUint64(t[at+step]),
			)
			t[at] = product.Sqrt(product).Uint64()
		}
	}
	return &t
})

// sorted spreads the records evenly and moves each one randomly within its part of the range.
func (g *Generator) sorted(index uint64) uint64 {
	step := ^uint64(0) / max(g.records, 1)
	jitter, _ := bits.Mul64(g.stream(index), step)
	return index*step + jitter
}

func (g *Generator) reversed(index uint64) uint64 {
	return g.sorted(g.records - 1 - index)
}

func (g *Generator) nearlySorted(index uint64) uint64 {
	choice := mix(g.seed ^ choiceSeed + index*golden)
	if choice%nearlySorted == 0 {
		return mix(choice)
	}
	return g.sorted(index)
}

func (g *Generator) few(index uint64) uint64 {
	return g.value(g.stream(index) % fewValues)
}

func (g *Generator) equal(uint64) uint64 { return g.value(0) }
