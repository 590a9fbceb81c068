//go:build !amd64

package radix

func Within[E Element](dst, a []E, low, span E) int { return withinLoop(dst, a, low, span) }
