//go:build !amd64

package cpu

func scatterFast[E element](s *scatterer[E], b *buckets[E], elems []E) (done int, full uint64) {
	return scatterLoop(s, b, elems)
}

func storeFence() {}
