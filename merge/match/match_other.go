//go:build !amd64

package match

// markVectors does nothing: there are no vector instructions.
func markVectors(_, _ []byte, _, _ []uint64) (i, j int) { return 0, 0 }

// orderVectors does nothing: there are no vector instructions.
func orderVectors([]uint64) (n int, descends, repeats bool) { return 0, false, false }
