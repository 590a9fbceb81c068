//go:build !amd64

package cpu

func without[E element](dst, a []E, value E) int { return withoutLoop(dst, a, value) }
