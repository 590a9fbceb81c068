//go:build !amd64

package merge

// mergeVectors returns its arguments unchanged: this processor has no vector registers that it
// could use. See twoway_amd64.go.
func mergeVectors(dst, a, b []uint64) (restDst, restA, restB []uint64) {
	return dst, a, b
}
