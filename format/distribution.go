package format

import (
	"math/big"
	"math/bits"
	"sync"
)

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
