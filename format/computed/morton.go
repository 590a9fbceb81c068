package computed

import "sync"

// The position of a point on the Z-order curve of G. M. Morton consists of the interleaved bits of
// its coordinates. Bit i of coordinate d is bit n·i+d of the position.

// mortonTables contains, for each number of dimensions, the bytes whose bits are spread: bit i is
// moved to bit n·i.
var mortonTables = sync.OnceValue(func() *[maxDimensions + 1][256]uint32 {
	var tables [maxDimensions + 1][256]uint32
	for n := 2; n <= maxDimensions; n++ {
		for v := range 256 {
			for i := range 8 {
				tables[n][v] |= uint32(v>>i&1) << (n * i)
			}
		}
	}
	return &tables
})

// mortonKeys computes the positions of points on the Z-order curve.
func mortonKeys(c *call, b *block) {
	c.setCells(b)
	n := len(c.axes)
	table := &mortonTables()[n]
	if n == 2 {
		planeMorton(b, table)
	} else {
		spaceMorton(b, n, table)
	}
	b.setNaNs()
}

// planeMorton computes the positions of points with two coordinates.
func planeMorton(b *block, table *[256]uint32) {
	spread := func(v uint32) uint64 {
		return uint64(table[v&0xff]) | uint64(table[v>>8&0xff])<<16 | uint64(table[v>>16&0xff])<<32 |
			uint64(table[v>>24])<<48
	}
	for i := range b.n {
		b.low[i] = spread(b.cells[0][i]) | spread(b.cells[1][i])<<1
	}
}

// spaceMorton computes the positions of points with n coordinates. The halves of the coordinates
// have 16 bits, whose positions fit into 64 bits.
func spaceMorton(b *block, n int, table *[256]uint32) {
	spread := func(v uint32) uint64 { return uint64(table[v&0xff]) | uint64(table[v>>8&0xff])<<(8*n) }
	for i := range b.n {
		var less, more uint64
		for d := range n {
			v := b.cells[d][i]
			less |= spread(v) << d
			more |= spread(v>>16) << d
		}
		b.low[i] = less | more<<(16*n) // nothing of more, if 16·n is 64
		b.high[i] = more >> (64 - 16*n)
	}
}
