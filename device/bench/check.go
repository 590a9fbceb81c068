package bench

import (
	"encoding/binary"
	"fmt"
	"sync"
)

// A column is a sequence of keys, optionally with values, somewhere in memory. The value of a key is the low 32 bits of
// its index among the unsorted keys.
type column struct {
	n     int64
	key   func(i int64) uint64
	value func(i int64) uint32 // nil: keys without values
}

// valueSpan is the number of different values. From this index on, they repeat.
const valueSpan = 1 << 32

// notFound is the result of indexAfter if there is no such index. It is also less than every index.
const notFound = -1

// indexAfter returns the first index after previous whose key and value are the given ones, or notFound.
func (c column) indexAfter(previous int64, key uint64, value uint32) int64 {
	spans := int64(0)
	if previous >= int64(value) {
		spans = (previous-int64(value))/valueSpan + 1
	}
	for i := int64(value) + spans*valueSpan; i < c.n; i += valueSpan {
		if c.key(i) == key {
			return i
		}
	}
	return notFound
}

// recordColumn returns the column of records that consist of a little-endian key and, optionally,
// a value.
func recordColumn(recs []byte, wordBytes int, values bool) column {
	size := int64(wordBytes)
	if values {
		size += 4
	}
	c := column{
		n:   int64(len(recs)) / size,
		key: wordReader(recs, size, wordBytes, binary.LittleEndian),
	}
	if values {
		c.value = func(i int64) uint32 {
			return binary.LittleEndian.Uint32(recs[i*size+size-4:])
		}
	}
	return c
}

// wordReader returns a function that reads the word at the beginning of item i, where items have
// size bytes.
func wordReader(
	b []byte,
	size int64,
	wordBytes int,
	order binary.ByteOrder,
) func(i int64) uint64 {
	if wordBytes == 8 {
		return func(i int64) uint64 { return order.Uint64(b[i*size:]) }
	}
	return func(i int64) uint64 { return uint64(order.Uint32(b[i*size:])) }
}

// check returns an error unless got is the stable order of given: it must be in order, contain
// the same keys with their values, and keep equal keys in their original order.
func check(given, got column) error {
	if got.n != given.n {
		return fmt.Errorf("%w: %d keys of %d", ErrWrong, got.n, given.n)
	}
	var mu sync.Mutex
	var sum uint64
	var failed error
	inParts(got.n, func(begin, end int64) {
		part, err := checkPart(given, got, begin, end)
		mu.Lock()
		defer mu.Unlock()
		sum += part
		if failed == nil {
			failed = err
		}
	})
	if failed == nil && sum != 0 {
		failed = fmt.Errorf("%w: the keys differ from those given", ErrWrong)
	}
	return failed
}

// checkPart checks items begin to end. sum is the sum of the hashes of got minus the hashes of
// given. If no key was lost, the sums of all parts add up to 0.
func checkPart(given, got column, begin, end int64) (sum uint64, err error) {
	index := firstIndex(given, got, begin)
	for i := begin; i < end; i++ {
		key := got.key(i)
		sum += mix(key) - mix(given.key(i))
		if i > 0 && key < got.key(i-1) {
			return sum, fmt.Errorf("%w: key %d of %d is %#x, after %#x", ErrWrong, i, got.n, key, got.key(i-1))
		}
		if got.value == nil {
			continue
		}
		if i > 0 && key != got.key(i-1) {
			index = notFound
		}
		if index, err = nextIndex(given, got, index, i); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// firstIndex returns the index that item begin-1 had before the sort, or notFound. If several are possible, it returns
// the lowest.
func firstIndex(given, got column, begin int64) int64 {
	if begin == 0 || got.value == nil {
		return notFound
	}
	return given.indexAfter(notFound, got.key(begin-1), got.value(begin-1))
}

// nextIndex returns the index that item i had before the sort. previous is the index of the item before it if both keys
// are equal; otherwise it is notFound.
func nextIndex(given, got column, previous, i int64) (int64, error) {
	key, value := got.key(i), got.value(i)
	if index := given.indexAfter(previous, key, value); index != notFound {
		return index, nil
	}
	if given.indexAfter(notFound, key, value) == notFound {
		return notFound, fmt.Errorf("%w: value %d of %d, %d, does not belong to its key", ErrWrong, i, got.n, value)
	}
	return notFound, fmt.Errorf("%w: values %d and %d of equal keys changed places", ErrWrong, got.value(i-1), value)
}

func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>29
}
