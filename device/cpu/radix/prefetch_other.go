//go:build !amd64

package radix

func prefetchBytes(*byte, int) {}

func PrefetchRecords(*byte, []uint64, uint64, int) {}
