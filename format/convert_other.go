//go:build !amd64

package format

func vectorKeys[T uint32 | uint64](*Keyer, []T, []byte) (done int) { return 0 }

func vectorRecords[T uint32 | uint64](*Keyer, []byte, []T) (done int) { return 0 }
