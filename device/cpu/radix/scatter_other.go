//go:build !amd64

package radix

import "github.com/extsort/extsort/device/arena"

func PutFast[E arena.Word](c *Combiner[E], elems []E, numbers []uint32) (done, full int) {
	return putLoop(c, elems, numbers)
}

func countFast[E Element](s *Scatterer[E, E], elems []E, numbers []uint32) (done, full int) {
	return countLoop(s, elems, numbers)
}

func StoreFence() {}
