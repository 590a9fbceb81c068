package match

import (
	"iter"
	"testing"
)

// withAndWithoutVectors yields twice, without and with vector instructions if there are any.
func withAndWithoutVectors(*testing.T) iter.Seq2[int, bool] {
	had := hasVectors
	return func(yield func(int, bool) bool) {
		defer func() { hasVectors = had }()
		hasVectors = false
		if yield(0, false) {
			hasVectors = had
			yield(1, had)
		}
	}
}
