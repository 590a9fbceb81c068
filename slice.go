package extsort

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/slicesort"
)

// SortSlice sorts a slice in memory, in parallel. The sort is stable. Elements may be numbers,
// strings, structs or any other type, and may contain pointers and padding.
//
// The keys order the elements, the most significant key first; see [By]. Without keys, elements
// that are numbers, strings, booleans or arrays of bytes are ordered by their value, and structs by
// the fields that have a tag:
//
//	type Event struct {
//		Time  int64   `extsort:"2,desc"` // the second key field, largest first
//		Level uint8   `extsort:"1"`      // the first key field
//		Data  *string                    // not part of the key
//	}
//
// A field with a tag is a number, a string, a boolean or an array of bytes. It may be unexported,
// and it may be a field of a nested struct.
//
// Floats are in IEEE 754 totalOrder: NaNs with a sign bit first, then −Inf to −0, +0 to +Inf, and
// other NaNs last. [Sort] uses the same order, but cmp.Compare does not. Strings and arrays are
// compared byte by byte, and false sorts before true.
//
// SortSlice uses GOMAXPROCS threads. It needs memory for a copy of the slice and 32 bytes per
// element. It has no memory limit of its own. To sort numbers or records within a limit, use
// [SortBytes]. Large slices of numbers without keys are sorted as [Sort] does: they need temporary
// files if they do not fit in the default memory limit. After an error, the slice is unchanged.
func SortSlice[T any](ctx context.Context, s []T, keys ...Key[T]) error {
	fields := make([]slicesort.Key[T], len(keys))
	for i, key := range keys {
		fields[i] = key.field
	}
	err := slicesort.Check(fields)
	if err == nil && len(fields) == 0 {
		fields, err = slicesort.KeysOf[T]()
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return publicErrors(err)
	}

	number := Type("")
	if len(keys) == 0 {
		number = numberType(reflect.TypeFor[T]())
	}
	if number == "" || len(s) < minNumbers {
		return publicErrors(slicesort.Sort(ctx, s, fields))
	}
	return publicErrors(safely.Call(func() error { return sortNumbers(ctx, s, number) }))
}

// A Key is one key of the elements of a slice. By returns one.
type Key[T any] struct{ field slicesort.Key[T] }

// By returns a Key whose value for an element is the result of get: a number or a string. get must
// always return the same value for the same element, and must be safe for concurrent calls.
//
//	err := extsort.SortSlice(ctx, events,
//		extsort.By(func(e Event) string { return e.Host }),
//		extsort.By(func(e Event) int64 { return e.Time }).Desc())
func By[T any, V cmp.Ordered](get func(T) V) Key[T] { return Key[T]{slicesort.By(get)} }

// Desc returns the key in descending order. Elements with equal keys still keep their order.
func (k Key[T]) Desc() Key[T] { return Key[T]{k.field.Reversed()} }

// minNumbers is the minimum length of a slice of numbers that is sorted like an input of Sort.
const minNumbers = 1 << 15

// numberType returns the type of a number in memory, or "" for other types.
func numberType(t reflect.Type) Type {
	kind := t.Kind()
	if !slicesort.IsNumber(kind) {
		return ""
	}
	letter := "u"
	switch kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		letter = "i"
	case reflect.Float32, reflect.Float64:
		letter = "f"
	}
	name := letter + strconv.Itoa(8*int(t.Size()))
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 && t.Size() > 1 {
		name += "be"
	}
	return Type(name)
}

// sortNumbers sorts numbers. Equal numbers are identical, so their order needs no index.
func sortNumbers[T any](ctx context.Context, s []T, number Type) error {
	record := Record{Type: number}
	spec, faults := record.spec()
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	size := int(unsafe.Sizeof(s[0]))
	sorted := make([]T, len(s))
	out := &sliceWriter{target: unsafe.Slice((*byte)(unsafe.Pointer(&sorted[0])), len(s)*size)}
	_, err := session.Sort(ctx, session.Options{
		Sources: []session.Source{{
			Name: "the slice",
			At:   bytes.NewReader(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*size)),
			Size: int64(len(s) * size),
		}},
		Record: spec,
		Raw:    true,
		Stdout: out,
	})
	if err == nil && len(out.target) > 0 {
		err = fmt.Errorf("sort slice: %d bytes are missing", len(out.target))
	}
	if err != nil {
		return err
	}
	return slicesort.Copy(s, sorted)
}

// sliceWriter writes to memory.
type sliceWriter struct{ target []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	n := copy(w.target, p)
	w.target = w.target[n:]
	if n < len(p) {
		return n, errors.New("sort slice: more bytes than the slice has")
	}
	return n, nil
}
