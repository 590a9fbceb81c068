package radix

import (
	"fmt"
	"testing"
)

// withoutVectors runs a test as on a processor that cannot pack the kept elements of a vector.
func withoutVectors(t *testing.T, test func(t *testing.T)) {
	defer func(had bool) { hasCompress = had }(hasCompress)
	hasCompress = false
	test(t)
}

// askingAhead runs a test as on a processor that asks for lines ahead, and as on one that does not.
func askingAhead(t *testing.T, test func(t *testing.T)) {
	defer func(asked bool) { asksAhead = asked }(asksAhead)
	for _, asksAhead = range []bool{false, true} {
		t.Run(fmt.Sprintf("ahead=%t", asksAhead), test)
	}
}

func TestRadixTwinsAhead(t *testing.T) {
	askingAhead(t, testRadixTwins[uint32])
	askingAhead(t, testRadixTwins[uint64])
}

func TestRadixSortAhead(t *testing.T) {
	askingAhead(t, testRadixSort[uint32])
	askingAhead(t, testRadixSort[uint64])
}

// TestWithinLoop is TestWithin without vectors.
func TestWithinLoop(t *testing.T) {
	withoutVectors(t, testWithin[uint64])
	withoutVectors(t, testWithin[uint32])
}

func TestWithoutLoop(t *testing.T) {
	withoutVectors(t, testWithout[uint64])
	withoutVectors(t, testWithout[uint32])
}
