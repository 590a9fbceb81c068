//go:build !amd64

package radix

func moveBlock[E Element](to, block []E, low E, shift, digit uint, places *[digits]uint64) {
	moveLoop(to, block, low, shift, digit, places)
}

func countTwo[E Element](block []E, low E, shift, digit uint, counts, next *[digits]uint64) {
	countTwoLoop(block, low, shift, digit, counts, next)
}
