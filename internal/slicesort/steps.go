package slicesort

import (
	"encoding/binary"
	"unsafe"
)

// wordBytes is the number of bytes of a word.
const wordBytes = 8

// A step is one word of the normalized keys: some numbers, and then the beginning of a text. If the
// texts of several elements begin alike, they have more words.
type step[T any] struct {
	numbers []number[T]
	text    *Key[T] // nil: none
	room    int     // bytes of text in the step's first word; a byte for its length follows
}

// A number is a key at its place in a word.
type number[T any] struct {
	bits   func(v *T) uint64
	invert uint64 // the bits to invert, for descending order
	shift  int
}

// A place is a word of the normalized keys.
type place struct {
	step   int
	offset int // bytes of the text in earlier words; 0: the first word of the step
}

// newSteps packs keys into words. Numbers are not cut, and a text begins in a word with room for at
// least one byte of it.
func newSteps[T any](keys []Key[T]) (steps []step[T]) {
	var next step[T]
	used := 0
	finish := func() {
		if used > 0 {
			steps = append(steps, next)
		}
		next = step[T]{}
		used = 0
	}
	for i := range keys {
		key := &keys[i]
		if key.text != nil {
			if used > wordBytes-2 {
				finish()
			}
			next.text = key
			next.room = wordBytes - 1 - used
			used = wordBytes
			finish()
			continue
		}
		if used+key.width > wordBytes {
			finish()
		}
		used += key.width
		n := number[T]{bits: key.bits, shift: 8 * (wordBytes - used)}
		if key.desc {
			n.invert = ^uint64(0) >> (64 - 8*key.width)
		}
		next.numbers = append(next.numbers, n)
	}
	finish()
	return steps
}

// word returns the word of an element at a place.
func (s *step[T]) word(at place, v *T) (word uint64) {
	room := s.room
	if at.offset == 0 {
		for i := range s.numbers {
			n := &s.numbers[i]
			word |= (n.bits(v) ^ n.invert) << n.shift
		}
	} else {
		room = wordBytes - 1
	}
	if s.text == nil {
		return word
	}
	text := textWord(textFrom(s.text.text(v), at.offset), room)
	if s.text.desc {
		text ^= ^uint64(0) >> (64 - 8*(room+1))
	}
	return word | text
}

// textFrom returns the text from offset on. It does not panic even if a key function returns a
// different text each time.
func textFrom(text string, offset int) string { return text[min(offset, len(text)):] }

// textWord returns the first room bytes of a text, followed by zeros, and in the last byte the
// length of the text, or room+1 if it is longer than room. So a text sorts before longer texts that
// begin with it.
func textWord(text string, room int) uint64 {
	var first uint64
	if len(text) >= wordBytes {
		first = binary.BigEndian.Uint64(unsafe.Slice(unsafe.StringData(text), wordBytes))
	} else {
		for i := range len(text) {
			first |= uint64(text[i]) << (56 - 8*i)
		}
	}
	length := min(len(text), room+1)
	return first>>(64-8*room)<<8 | uint64(length)
}

// placeAfter returns the place after at for elements that have the same word there.
func (s *step[T]) placeAfter(at place, word uint64) place {
	if s.text != nil {
		room := s.room
		if at.offset > 0 {
			room = wordBytes - 1
		}
		length := byte(word)
		if s.text.desc {
			length = ^length
		}
		if int(length) > room {
			return place{step: at.step, offset: at.offset + room}
		}
	}
	return place{step: at.step + 1}
}
