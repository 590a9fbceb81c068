//go:build !amd64

package match

import (
	"iter"
	"slices"
	"testing"
)

// withAndWithoutVectors yields once: there are no vector instructions.
func withAndWithoutVectors(*testing.T) iter.Seq2[int, bool] { return slices.All([]bool{false}) }
