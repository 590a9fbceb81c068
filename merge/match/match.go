// Package match finds the keys that two sorted lists share, and copies the records that have such
// keys.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The result of a comparison is a list of marks, one byte per key: 1 if the other list has the key,
// and 0 if not. No loop has a branch that depends on the keys, because random keys would cause it
// to be mispredicted.
package match

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Mark sets the marks of the keys of a that b has. It leaves other marks as they are. ofA has one
// mark for each key of a, and ofB one for each key of b. Both lists are in ascending order. If the
// keys of b are distinct, Mark also sets the marks of the keys of b that a has; otherwise only some
// of them.
func Mark(ofA, ofB []byte, a, b []uint64) {
	ofA = ofA[:len(a)]
	ofB = ofB[:len(b)]
	i, j := markVectors(ofA, ofB, a, b)
	markWords(ofA[i:], ofB[j:], a[i:], b[j:])
}

// markWords is Mark without vector instructions. One step handles a key of a if it is at most
// the next key of b, and otherwise skips the key of b. So the next key of a is compared with the
// same key of b, in case they are equal, too.
func markWords(ofA, ofB []byte, a, b []uint64) {
	keysA := unsafe.Pointer(unsafe.SliceData(a))
	keysB := unsafe.Pointer(unsafe.SliceData(b))
	marksA := unsafe.Pointer(unsafe.SliceData(ofA))
	marksB := unsafe.Pointer(unsafe.SliceData(ofB))
	var i, j uint64
	for i < uint64(len(a)) && j < uint64(len(b)) {
		x := *(*uint64)(unsafe.Add(keysA, i*8))
		y := *(*uint64)(unsafe.Add(keysB, j*8))
		_, less := bits.Sub64(x, y, 0)
		_, more := bits.Sub64(y, x, 0)
		equal := byte(1 ^ less ^ more)
		*(*byte)(unsafe.Add(marksA, i)) |= equal
		*(*byte)(unsafe.Add(marksB, j)) |= equal
		i += 1 - more
		j += more
	}
}

// MarkOnce sets marks of keys of a that have no mark yet: for each key of b, that of the first such
// key of a that is equal to it, if there is one.
func MarkOnce(ofA []byte, a, b []uint64) {
	ofA = ofA[:len(a)]
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		x := a[i]
		y := b[j]
		_, less := bits.Sub64(x, y, 0)
		_, more := bits.Sub64(y, x, 0)
		marked := uint64(ofA[i])
		equal := (1 ^ less ^ more) &^ marked
		ofA[i] |= byte(equal)
		more &^= marked
		i += int(1 - more)
		j += int(more | equal)
	}
}

// Keep copies the words whose mark is want, 0 or 1, to dst and returns their number. dst has room
// for all words. It may be the memory of the words.
func Keep[W ~uint64](dst, words []W, marks []byte, want byte) int {
	dst = dst[:len(words)]
	marks = marks[:len(words)]
	to := unsafe.Pointer(unsafe.SliceData(dst))
	n := uintptr(0)
	for i, word := range words {
		*(*W)(unsafe.Add(to, n*8)) = word // n is at most i
		n += uintptr(1 ^ marks[i] ^ want)
	}
	return int(n)
}

// Indexes writes the indexes of the marks that are want, 0 or 1, to dst and returns their number.
// dst has room for the indexes of all marks.
func Indexes(dst []uint32, marks []byte, want byte) int {
	dst = dst[:len(marks)]
	to := unsafe.Pointer(unsafe.SliceData(dst))
	n := uintptr(0)
	for i, mark := range marks {
		*(*uint32)(unsafe.Add(to, n*4)) = uint32(i) // n is at most i
		n += uintptr(1 ^ mark ^ want)
	}
	return int(n)
}

// Stretch returns the first stretch of marks that are all want, 0 or 1. It is empty if there is
// none.
func Stretch(marks []byte, want byte) (from, to int) {
	from = bytes.IndexByte(marks, want)
	if from < 0 {
		return len(marks), len(marks)
	}
	length := bytes.IndexByte(marks[from:], 1^want)
	if length < 0 {
		return from, len(marks)
	}
	return from, from + length
}

// Count returns the number of marks that are 1.
func Count(marks []byte) (n int) {
	for len(marks) >= 8 {
		n += bits.OnesCount64(binary.NativeEndian.Uint64(marks))
		marks = marks[8:]
	}
	for _, mark := range marks {
		n += int(mark)
	}
	return n
}

// Order reports whether a key is less than its predecessor, and whether one is equal to it.
func Order(keys []uint64) (descends, repeats bool) {
	if len(keys) == 0 {
		return false, false
	}
	n, descends, repeats := orderVectors(keys)
	var anyLess, anyEqual uint64
	before := keys[n]
	for _, key := range keys[n+1:] {
		difference, less := bits.Sub64(key, before, 0)
		_, equal := bits.Sub64(difference, 1, 0)
		anyLess |= less
		anyEqual |= equal
		before = key
	}
	return descends || anyLess != 0, repeats || anyEqual != 0
}
