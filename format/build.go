package format

import (
	"slices"
	"strconv"
)

// Key adds a field to the key of raw records: a type at so many bytes from the beginning of the record.
func (s Spec) Key(offset int, t Type) Spec {
	s.Keys = append(slices.Clone(s.Keys), strconv.Itoa(offset)+":"+t.String())
	return s
}

// Desc reverses the order of the field that was added last.
func (s Spec) Desc() Spec {
	s.Keys = slices.Clone(s.Keys)
	if n := len(s.Keys); n > 0 {
		s.Keys[n-1] += ":desc"
	}
	return s
}
