//go:build !amd64

package merge

// mergeVectors is for processors with registers of eight keys: see twoway_amd64.go.
func mergeVectors(dst, a, b []uint64) (restDst, restA, restB []uint64) { return dst, a, b }
