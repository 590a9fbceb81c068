package cpu

// carryFast does what carryLoop does, with stores past the caches: see scatterFast.
func carryFast[R carried](c *combiner[R], b *buckets[uint64], keys []uint64, words []R) (done int, full uint64) {
	if len(keys) == 0 {
		return 0, none64
	}
	size := 0
	if c.line*8 < lineBytes {
		size = 1
	}
	return carries[size][kindOf(b)](keys, b, word[uint64](c.lines), &c.at[0], word[uint64](c.pool.elems), uint64(c.pool.block-1), word[uint64](words[:len(keys)]))
}

// carries are by the size of word and kindOf the buckets.
var carries = [2][3]func(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64){
	{carry8, carryFitted8, carryGraded8}, {carry16, carryFitted16, carryGraded16}}

// carry8 is carryLoop for words of 8 bytes and plain buckets.
//
//go:noescape
func carry8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)

// carryFitted8 is carryLoop for words of 8 bytes and fitted buckets with cells of equal widths.
//
//go:noescape
func carryFitted8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)

// carryGraded8 is carryLoop for words of 8 bytes and fitted buckets with cells that grow.
//
//go:noescape
func carryGraded8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)

// carry16 is carryLoop for words of 16 bytes and plain buckets.
//
//go:noescape
func carry16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)

// carryFitted16 is carryLoop for words of 16 bytes and fitted buckets with cells of equal widths.
//
//go:noescape
func carryFitted16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)

// carryGraded16 is carryLoop for words of 16 bytes and fitted buckets with cells that grow.
//
//go:noescape
func carryGraded16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
