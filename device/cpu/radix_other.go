//go:build !amd64

package cpu

func moveBlock[E element](to, block []E, low E, shift, digit uint, places *[digits]uint64) {
	moveLoop(to, block, low, shift, digit, places)
}

func countTwo[E element](block []E, low E, shift, digit uint, counts, next *[digits]uint64) {
	countTwoLoop(block, low, shift, digit, counts, next)
}
