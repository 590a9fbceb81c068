//go:build !amd64

package cpu

func carryFast[R carried](c *combiner[R], b *buckets[uint64], keys []uint64, words []R) (done int, full uint64) {
	return carryLoop(c, b, keys, words)
}
