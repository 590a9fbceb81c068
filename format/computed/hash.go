package computed

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/extsort/extsort/format"
)

// reversedKeys computes integers whose bits are in reverse order. Numbers from 0 on, in the order of
// these keys, are the bit-reversal permutation.
func reversedKeys(c *call, b *block) {
	t := c.fields[0].Type
	sign := uint64(0) // the normalized form of signed numbers has this bit inverted
	if t.Kind == format.Signed {
		sign = 1 << (8*t.Size - 1)
	}
	unused := 64 - 8*t.Size
	c.keyer.Prefixes(b.numbers[:b.n], b.recs)
	for i, v := range b.numbers[:b.n] {
		b.low[i] = bits.Reverse64(v^sign) >> unused
	}
}

// hashedKeys computes the XXH64 of the bytes of the fields, as they are in the record, one after
// another, with seed 0.
func hashedKeys(c *call, b *block) {
	first := c.fields[0]
	for i := range b.n {
		rec := b.recs[i*b.size : (i+1)*b.size]
		if len(c.fields) == 1 {
			b.low[i] = xxhash.Sum64(rec[first.Offset : first.Offset+first.Type.Size])
			continue
		}
		b.bytes = b.bytes[:0]
		for _, f := range c.fields {
			b.bytes = append(b.bytes, rec[f.Offset:f.Offset+f.Type.Size]...)
		}
		b.low[i] = xxhash.Sum64(b.bytes)
	}
}
