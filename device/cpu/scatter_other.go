//go:build !amd64

package cpu

import "github.com/extsort/extsort/device/arena"

func numberFast[E element](b *buckets[E], numbers []uint32, elems []E) (done int) { return 0 }

func putFast[E arena.Word](c *combiner[E], elems []E, numbers []uint32) (done, full int) {
	return putLoop(c, elems, numbers)
}

func countFast[E element](s *scatterer[E], elems []E, numbers []uint32) (done, full int) {
	return countLoop(s, elems, numbers)
}

func storeFence() {}
