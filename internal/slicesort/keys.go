package slicesort

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// A Key is one key of an element: a number or a text. The zero value is invalid.
type Key[T any] struct {
	bits  func(v *T) uint64 // the number in a form that sorts as an unsigned number; nil: the key is a text
	width int               // bytes of bits
	text  func(v *T) string // the text, which sorts byte by byte; nil: the key is a number
	desc  bool              // largest first
}

// Valid reports whether the key is not the zero value.
func (k Key[T]) Valid() bool { return k.bits != nil || k.text != nil }

// Desc reports whether the key is in descending order.
func (k Key[T]) Desc() bool { return k.desc }

// Reversed returns the key in the opposite order.
func (k Key[T]) Reversed() Key[T] {
	k.desc = !k.desc
	return k
}

// keyFunction is the name of the function of a key in errors.
const keyFunction = "a key function of SortSlice"

// By returns the key that get returns for an element. It is the zero value if get is nil.
func By[T any, V cmp.Ordered](get func(T) V) Key[T] {
	if get == nil {
		return Key[T]{}
	}
	kind := reflect.TypeFor[V]().Kind()
	if kind == reflect.String {
		return Key[T]{text: func(v *T) string {
			defer safely.Attribute(keyFunction)
			value := get(*v)
			return *(*string)(unsafe.Pointer(&value))
		}}
	}
	width := int(reflect.TypeFor[V]().Size())
	return Key[T]{
		width: width,
		bits: func(v *T) uint64 {
			defer safely.Attribute(keyFunction)
			value := get(*v)
			return normalized(kind, width, unsafe.Pointer(&value))
		},
	}
}

// normalized returns a number or boolean in a form that sorts as an unsigned number of the same
// width.
func normalized(kind reflect.Kind, width int, p unsafe.Pointer) (bits uint64) {
	switch width {
	case 1:
		bits = uint64(*(*uint8)(p))
	case 2:
		bits = uint64(*(*uint16)(p))
	case 4:
		bits = uint64(*(*uint32)(p))
	case 8:
		bits = *(*uint64)(p)
	}
	sign := uint64(1) << (8*width - 1)
	switch kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		bits ^= sign
	case reflect.Float32, reflect.Float64:
		if bits&sign != 0 {
			bits ^= sign<<1 - 1
		} else {
			bits |= sign
		}
	}
	return bits
}

// IsNumber reports whether a kind is numeric.
func IsNumber(kind reflect.Kind) bool {
	return kind >= reflect.Int && kind <= reflect.Float64
}

// valueKey returns the key of a value of type t, which is stored offset bytes from the beginning of
// an element.
func valueKey[T any](t reflect.Type, offset uintptr) (Key[T], bool) {
	kind := t.Kind()
	at := func(v *T) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(v), offset) }
	switch {
	case IsNumber(kind) || kind == reflect.Bool:
		width := int(t.Size())
		return Key[T]{
			width: width,
			bits:  func(v *T) uint64 { return normalized(kind, width, at(v)) },
		}, true
	case kind == reflect.String:
		return Key[T]{text: func(v *T) string { return *(*string)(at(v)) }}, true
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() > 0:
		length := t.Len()
		return Key[T]{text: func(v *T) string { return unsafe.String((*byte)(at(v)), length) }}, true
	}
	return Key[T]{}, false
}

// keysField is the name of the argument keys in errors.
const keysField option.Field = "keys"

// Check returns an error if a key is the zero value.
func Check[T any](keys []Key[T]) error {
	for i, key := range keys {
		if !key.Valid() {
			return option.Errorf(keysField, ": key %d is the zero Key: make it with By", i)
		}
	}
	return nil
}

// KeysOf returns the keys that the type of the elements defines: the element itself, or its fields
// with tags.
func KeysOf[T any]() ([]Key[T], error) {
	t := reflect.TypeFor[T]()
	if key, ok := valueKey[T](t, 0); ok {
		return []Key[T]{key}, nil
	}
	if t.Kind() != reflect.Struct {
		return nil, option.Errorf(keysField, " are missing: elements of type %v have no order of their own; use By", t)
	}
	fields, err := taggedKeys[T](t, 0)
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, option.Errorf(
			keysField,
			" are missing: use By, or give fields of %v a tag such as `extsort:\"1\"`",
			t,
		)
	}

	slices.SortStableFunc(fields, func(a, b rankedKey[T]) int { return cmp.Compare(a.rank, b.rank) })
	keys := make([]Key[T], len(fields))
	for i, field := range fields {
		if i > 0 && field.rank == fields[i-1].rank {
			return nil, option.Errorf(
				keysField,
				": fields %s and %s have the same tag extsort:\"%d\"",
				fields[i-1].name,
				field.name,
				field.rank,
			)
		}
		keys[i] = field.key
	}
	return keys, nil
}

// A rankedKey is a key field of a struct with its rank among the others.
type rankedKey[T any] struct {
	rank int
	name string
	key  Key[T]
}

// taggedKeys returns the key fields of a struct, which is stored offset bytes from the beginning of
// an element.
func taggedKeys[T any](t reflect.Type, offset uintptr) (all []rankedKey[T], err error) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, isKey := field.Tag.Lookup("extsort")
		at := offset + field.Offset
		var found []rankedKey[T]
		switch {
		case isKey:
			found, err = taggedKey[T](t, field, at, tag)
		case field.Type.Kind() == reflect.Struct:
			found, err = taggedKeys[T](field.Type, at)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// taggedKey returns the key field with a tag of struct t. The field is stored offset bytes from the
// beginning of an element.
func taggedKey[T any](t reflect.Type, field reflect.StructField, offset uintptr, tag string) ([]rankedKey[T], error) {
	name := t.String() + "." + field.Name
	number, direction, hasDirection := strings.Cut(tag, ",")
	rank, err := strconv.Atoi(number)
	if err != nil || rank < 1 || hasDirection && direction != "desc" && direction != "asc" {
		return nil, option.Errorf(keysField, ": field %s has the tag extsort:%q: want the number of the key field, "+
			"from 1, and ,desc for largest first", name, tag)
	}

	key, ok := valueKey[T](field.Type, offset)
	if !ok {
		return nil, option.Errorf(keysField, ": field %s of type %v has no order: only numbers, strings, booleans and "+
			"arrays of bytes have; use By", name, field.Type)
	}
	if direction == "desc" {
		key = key.Reversed()
	}
	return []rankedKey[T]{{rank: rank, name: name, key: key}}, nil
}
