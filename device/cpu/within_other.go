//go:build !amd64

package cpu

func within[E element](dst, a []E, low, span E) int { return withinLoop(dst, a, low, span) }
