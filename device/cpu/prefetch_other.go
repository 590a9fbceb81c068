//go:build !amd64

package cpu

func prefetchBytes(*byte, int) {}

func prefetchRecords(*byte, []uint64, uint64, int) {}
