package extsort

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/session"
)

// SortSlice sorts a slice in memory, in parallel. The sort is stable. Elements may be numbers, strings, structs or any
// other type, and may contain pointers and padding.
//
// The keys order the elements, the most significant key first; see [By]. Without keys, elements that are numbers,
// strings, booleans or arrays of bytes are ordered by their value, and structs by the fields that have a tag:
//
//	type Event struct {
//		Time  int64   `extsort:"2,desc"` // the second key field, largest first
//		Level uint8   `extsort:"1"`      // the first key field
//		Data  *string                    // not part of the key
//	}
//
// A field with a tag is a number, a string, a boolean or an array of bytes. It may be unexported, and it may be a field
// of a nested struct.
//
// Floats are in IEEE 754 totalOrder: NaNs with a sign bit first, then −Inf to −0, +0 to +Inf, and other NaNs last. This
// is the order of [Sort], but not that of cmp.Compare. Strings and arrays are compared byte by byte, and false sorts
// before true.
//
// SortSlice needs memory for a copy of the slice and for its keys. If the keys need more than the default of
// Resources.Memory, they go to temporary files. After an error, the slice is unchanged. SortSlice pays for numbers and
// for keys of few bytes. For string keys and large structs, slices.SortStableFunc may be faster.
func SortSlice[T any](ctx context.Context, s []T, keys ...Key[T]) error {
	order, err := newOrdering(keys)
	if err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	err = safely.Call(func() error {
		switch {
		case len(s) < minParallel:
			return order.sortSmall(s)
		case order.number != "":
			return sortNumbers(ctx, s, order.number, order.keys[0].desc)
		case uint64(len(s)) <= math.MaxUint32:
			return sortIndexed[T, uint32](ctx, s, order)
		default:
			return sortIndexed[T, uint64](ctx, s, order)
		}
	})
	return publicErrors(err)
}

// A Key is one key of the elements of a slice. By returns one.
type Key[T any] struct {
	width   int                    // bytes of its normalized form
	inexact bool                   // values that differ may have the same normalized form
	put     func(dst []byte, v *T) // writes the normalized form: its order as bytes is that of the values
	compare func(a, b *T) int      // compares values exactly; nil unless inexact
	desc    bool                   // largest first
}

// By returns the key that get returns for an element: a number or a string. get must always return the same value for
// the same element, and must be safe for concurrent calls.
//
//	err := extsort.SortSlice(ctx, events,
//		extsort.By(func(e Event) string { return e.Host }),
//		extsort.By(func(e Event) int64 { return e.Time }).Desc())
func By[T any, V cmp.Ordered](get func(T) V) Key[T] {
	kind := reflect.TypeFor[V]().Kind()
	if get == nil {
		return Key[T]{}
	}
	if kind == reflect.String {
		return Key[T]{
			width:   stringPrefix,
			inexact: true,
			put: func(dst []byte, v *T) {
				value := get(*v)
				putString(dst, *(*string)(unsafe.Pointer(&value)))
			},
			compare: func(a, b *T) int { return cmp.Compare(get(*a), get(*b)) },
		}
	}
	return Key[T]{
		width: int(reflect.TypeFor[V]().Size()),
		put: func(dst []byte, v *T) {
			value := get(*v)
			putNumber(dst, kind, unsafe.Pointer(&value))
		},
	}
}

// Desc returns the key in descending order. Elements with equal keys still keep their order.
func (k Key[T]) Desc() Key[T] {
	k.desc = !k.desc
	return k
}

const (
	// minParallel is the number of elements from which on SortSlice sorts in parallel. For numbers, that is then faster
	// than the standard library.
	minParallel = 1 << 15

	// stringPrefix is the number of bytes of a string in its normalized form. Longer strings are compared in full if
	// their prefixes are equal.
	stringPrefix = 16

	// sliceBlock is the number of elements that are processed between two looks at the context.
	sliceBlock = 1 << 14
)

// putNumber writes the normalized form of a number or boolean to dst, which has its size.
func putNumber(dst []byte, kind reflect.Kind, p unsafe.Pointer) {
	var bits uint64
	switch len(dst) {
	case 1:
		bits = uint64(*(*uint8)(p))
	case 2:
		bits = uint64(*(*uint16)(p))
	case 4:
		bits = uint64(*(*uint32)(p))
	case 8:
		bits = *(*uint64)(p)
	}
	sign := uint64(1) << (8*len(dst) - 1)
	switch kind {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		bits ^= sign
	case reflect.Float32, reflect.Float64:
		if bits&sign != 0 {
			bits = ^bits
		} else {
			bits |= sign
		}
	}
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = byte(bits)
		bits >>= 8
	}
}

// putString writes the first bytes of s to dst, followed by zeros.
func putString(dst []byte, s string) { clear(dst[copy(dst, s):]) }

// numberTypes are the types of numbers that Sort can order where they are, without an index.
var numberTypes = map[reflect.Kind]string{
	reflect.Uint8: "u", reflect.Uint16: "u", reflect.Uint32: "u", reflect.Uint64: "u", reflect.Uint: "u",
	reflect.Uintptr: "u", reflect.Int8: "i", reflect.Int16: "i", reflect.Int32: "i", reflect.Int64: "i",
	reflect.Int: "i", reflect.Float32: "f", reflect.Float64: "f",
}

// numberType returns the type of a number in memory.
func numberType(t reflect.Type) Type {
	letter, ok := numberTypes[t.Kind()]
	if !ok {
		return ""
	}
	name := Type(letter + strconv.Itoa(8*int(t.Size())))
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		return name.BigEndian()
	}
	return name
}

// valueKey returns the key of a value of type t, which lies offset bytes from the beginning of an element.
func valueKey[T any](t reflect.Type, offset uintptr) (Key[T], bool) {
	kind := t.Kind()
	at := func(v *T) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(v), offset) }
	switch {
	case numberTypes[kind] != "" || kind == reflect.Bool:
		return Key[T]{
			width: int(t.Size()),
			put:   func(dst []byte, v *T) { putNumber(dst, kind, at(v)) },
		}, true
	case kind == reflect.String:
		return Key[T]{
			width:   stringPrefix,
			inexact: true,
			put:     func(dst []byte, v *T) { putString(dst, *(*string)(at(v))) },
			compare: func(a, b *T) int { return strings.Compare(*(*string)(at(a)), *(*string)(at(b))) },
		}, true
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() > 0:
		return Key[T]{
			width: t.Len(),
			put:   func(dst []byte, v *T) { copy(dst, unsafe.Slice((*byte)(at(v)), len(dst))) },
		}, true
	}
	return Key[T]{}, false
}

// tagged is a key field of a struct with its rank among the others.
type tagged[T any] struct {
	rank int
	name string
	key  Key[T]
}

// taggedKeys returns the key fields of a struct, which lies offset bytes from the beginning of an element.
func taggedKeys[T any](t reflect.Type, offset uintptr) (all []tagged[T], err error) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, isKey := field.Tag.Lookup("extsort")
		at := offset + field.Offset
		var found []tagged[T]
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

// taggedKey returns the key field with a tag of struct t. The field lies offset bytes from the beginning of an element.
func taggedKey[T any](t reflect.Type, field reflect.StructField, offset uintptr, tag string) ([]tagged[T], error) {
	name := t.String() + "." + field.Name
	number, direction, hasDirection := strings.Cut(tag, ",")
	rank, err := strconv.Atoi(number)
	if err != nil || rank < 1 || hasDirection && direction != "desc" && direction != "asc" {
		return nil, optionErrorf("keys", "field %s has the tag extsort:%q: want the number of the key field, "+
			"from 1, and ,desc for largest first", name, tag)
	}

	key, ok := valueKey[T](field.Type, offset)
	if !ok {
		return nil, optionErrorf("keys", "field %s of type %v has no order: only numbers, strings, booleans and "+
			"arrays of bytes have; use By", name, field.Type)
	}
	if direction == "desc" {
		key = key.Desc()
	}
	return []tagged[T]{{rank: rank, name: name, key: key}}, nil
}

// ordering orders the elements of a slice.
type ordering[T any] struct {
	keys    []Key[T]
	width   int  // bytes of the normalized key: of all keys up to the first one that is inexact
	inexact bool // elements with the same normalized key may differ in their keys
	number  Type // the elements are numbers of this type and ordered by their value; "": they are not
}

func newOrdering[T any](keys []Key[T]) (*ordering[T], error) {
	o := &ordering[T]{keys: keys}
	if len(keys) == 0 {
		if err := o.useType(reflect.TypeFor[T]()); err != nil {
			return nil, err
		}
	}
	for i, key := range o.keys {
		if key.put == nil {
			return nil, optionErrorf("keys", "key %d is the zero Key: make it with By", i)
		}
		if !o.inexact {
			o.width += key.width
			o.inexact = key.inexact
		}
	}
	if o.width > maxSliceKey {
		return nil, optionErrorf("keys", "have %d bytes: the maximum is %d", o.width, maxSliceKey)
	}
	return o, nil
}

// maxSliceKey is the maximum number of bytes of the normalized key of an element.
const maxSliceKey = 1 << 16

// useType takes the keys from the type of the elements.
func (o *ordering[T]) useType(t reflect.Type) error {
	if key, ok := valueKey[T](t, 0); ok {
		o.keys = []Key[T]{key}
		o.number = numberType(t)
		return nil
	}
	if t.Kind() != reflect.Struct {
		return optionErrorf("keys", "are missing: elements of type %v have no order of their own; use By", t)
	}
	fields, err := taggedKeys[T](t, 0)
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		return optionErrorf("keys", "are missing: use By, or give fields of %v a tag such as `extsort:\"1\"`", t)
	}
	slices.SortStableFunc(fields, func(a, b tagged[T]) int { return cmp.Compare(a.rank, b.rank) })
	for i, field := range fields {
		if i > 0 && field.rank == fields[i-1].rank {
			return optionErrorf("keys", "fields %s and %s have the same tag extsort:\"%d\"", fields[i-1].name, field.name,
				field.rank)
		}
		o.keys = append(o.keys, field.key)
	}
	return nil
}

// put writes the normalized key of an element.
func (o *ordering[T]) put(dst []byte, v *T) {
	for i := range o.keys {
		key := &o.keys[i]
		part := dst[:key.width]
		key.put(part, v)
		if key.desc {
			for i := range part {
				part[i] = ^part[i]
			}
		}
		if dst = dst[key.width:]; key.inexact {
			return
		}
	}
}

// comparer returns a function that compares two elements by all keys. It is not safe for concurrent calls.
func (o *ordering[T]) comparer() func(a, b *T) int {
	widest := 0
	for i := range o.keys {
		widest = max(widest, o.keys[i].width)
	}
	first := make([]byte, widest)
	second := make([]byte, widest)
	return func(a, b *T) int {
		for i := range o.keys {
			key := &o.keys[i]
			result := 0
			if key.inexact {
				result = key.compare(a, b)
			} else {
				key.put(first[:key.width], a)
				key.put(second[:key.width], b)
				result = bytes.Compare(first[:key.width], second[:key.width])
			}
			if key.desc {
				result = -result
			}
			if result != 0 {
				return result
			}
		}
		return 0
	}
}

// sortSmall sorts a few elements.
func (o *ordering[T]) sortSmall(s []T) error {
	compare := o.comparer()
	sorted := slices.Clone(s) // get may panic in the middle of the sort
	slices.SortStableFunc(sorted, func(a, b T) int { return compare(&a, &b) })
	copy(s, sorted)
	return nil
}

// sortNumbers sorts elements that are numbers: equal ones are identical, so that they need no index.
func sortNumbers[T any](ctx context.Context, s []T, number Type, desc bool) error {
	size := int(unsafe.Sizeof(s[0]))
	sorted := make([]T, len(s))
	out := &sliceWriter{to: unsafe.Slice((*byte)(unsafe.Pointer(&sorted[0])), len(s)*size)}
	_, err := session.Sort(ctx, session.Options{
		Sources: []session.Source{{
			Name: "the slice",
			At:   bytes.NewReader(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), len(s)*size)),
			Size: int64(len(s) * size),
		}},
		Record:  (&Record{Type: number}).mustSpec(),
		Raw:     true,
		Reverse: desc,
		Stdout:  out,
	})
	if err == nil && len(out.to) > 0 {
		err = fmt.Errorf("sort slice: %d bytes are missing", len(out.to))
	}
	if err != nil {
		return err
	}
	return copyParallel(s, sorted)
}

// sliceWriter writes to memory.
type sliceWriter struct{ to []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	n := copy(w.to, p)
	w.to = w.to[n:]
	if n < len(p) {
		return n, errors.New("sort slice: more bytes than the slice has")
	}
	return n, nil
}

// sortIndexed sorts pairs of a normalized key and an index, and moves the elements once.
func sortIndexed[T any, I uint32 | uint64](ctx context.Context, s []T, o *ordering[T]) error {
	pairs := &keyReader[T, I]{slice: s, ordering: o}
	size := pairs.recordSize()
	sorted := &indexWriter[I]{keySize: o.width, ties: o.inexact}
	sorted.index = make([]I, 0, len(s))

	_, err := session.Sort(ctx, session.Options{
		Sources: []session.Source{{Name: "the slice", At: pairs, Size: int64(len(s)) * int64(size)}},
		Record:  (&Record{Size: size, Keys: []KeyField{{Type: Bytes(o.width)}}}).mustSpec(),
		Raw:     true,
		Stdout:  sorted,
	})
	if err != nil {
		return err
	}
	if len(sorted.index) != len(s) {
		return fmt.Errorf("sort slice: %d of %d elements are sorted", len(sorted.index), len(s))
	}
	if err := sortTies(ctx, s, o, sorted); err != nil {
		return err
	}
	moved := make([]T, len(s))
	stop := func() error { return context.Cause(ctx) }
	err = inBlocks(len(s), stop, func(from, to int) {
		for i := from; i < to; i++ {
			moved[i] = s[sorted.index[i]]
		}
	})
	if err != nil {
		return err
	}
	return copyParallel(s, moved)
}

// keyReader is an io.ReaderAt of the pairs of all elements, which it makes when they are read.
type keyReader[T any, I uint32 | uint64] struct {
	slice    []T
	ordering *ordering[T]
}

func (r *keyReader[T, I]) recordSize() int { return r.ordering.width + int(unsafe.Sizeof(I(0))) }

func (r *keyReader[T, I]) ReadAt(p []byte, offset int64) (n int, err error) {
	size := r.recordSize()
	element := int(offset / int64(size))
	skip := int(offset % int64(size))
	var part []byte // of a pair that is not read as a whole
	for len(p) > 0 && element < len(r.slice) {
		if skip == 0 && len(p) >= size {
			r.put(p[:size], element)
			p = p[size:]
			n += size
		} else {
			if part == nil {
				part = make([]byte, size)
			}
			r.put(part, element)
			copied := copy(p, part[skip:])
			p = p[copied:]
			n += copied
			skip = 0
		}
		element++
	}
	if len(p) > 0 {
		err = io.EOF
	}
	return n, err
}

// put writes the normalized key of an element, and its index.
func (r *keyReader[T, I]) put(pair []byte, element int) {
	key := pair[:r.ordering.width]
	r.ordering.put(key, &r.slice[element])
	if index := pair[len(key):]; len(index) == 4 {
		binary.LittleEndian.PutUint32(index, uint32(element))
	} else {
		binary.LittleEndian.PutUint64(index, uint64(element))
	}
}

// indexWriter keeps the indexes of sorted pairs.
type indexWriter[I uint32 | uint64] struct {
	keySize int
	index   []I
	part    []byte // the beginning of a pair

	ties   bool     // look for equal keys
	key    []byte   // the key of the last pair
	tied   bool     // it equals the one before
	groups [][2]int // where groups of equal keys begin and end
}

func (w *indexWriter[I]) Write(p []byte) (int, error) {
	written := len(p)
	size := w.keySize + int(unsafe.Sizeof(I(0)))
	if len(w.part) > 0 {
		n := min(size-len(w.part), len(p))
		w.part = append(w.part, p[:n]...)
		if p = p[n:]; len(w.part) == size {
			w.add(w.part)
			w.part = w.part[:0]
		}
	}
	for ; len(p) >= size; p = p[size:] {
		w.add(p[:size])
	}
	w.part = append(w.part, p...)
	return written, nil
}

// add keeps the index of the next pair.
func (w *indexWriter[I]) add(pair []byte) {
	key := pair[:w.keySize]
	at := len(w.index)
	if index := pair[w.keySize:]; len(index) == 4 {
		w.index = append(w.index, I(binary.LittleEndian.Uint32(index)))
	} else {
		w.index = append(w.index, I(binary.LittleEndian.Uint64(index)))
	}
	if !w.ties {
		return
	}
	switch equal := at > 0 && bytes.Equal(key, w.key); {
	case equal && w.tied:
		w.groups[len(w.groups)-1][1] = at + 1
	case equal:
		w.tied = true
		w.groups = append(w.groups, [2]int{at - 1, at + 1})
	default:
		w.tied = false
		w.key = append(w.key[:0], key...)
	}
}

// sortTies orders each group of elements with the same normalized key by all keys.
func sortTies[T any, I uint32 | uint64](ctx context.Context, s []T, o *ordering[T], sorted *indexWriter[I]) error {
	group, ctx := safely.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, bounds := range batches(sorted.groups) {
		group.Go(func() error {
			compare := o.comparer()
			byKeys := func(a, b I) int { return compare(&s[a], &s[b]) }
			var spare []I
			for _, tie := range bounds {
				index := sorted.index[tie[0]:tie[1]]
				if len(spare) < len(index) {
					spare = make([]I, len(index))
				}
				if err := mergeSort(ctx, index, spare[:len(index)], byKeys); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// batches divides groups into batches of about as many elements as a block has.
func batches(groups [][2]int) (all [][][2]int) {
	begin, elements := 0, 0
	for i, group := range groups {
		if elements += group[1] - group[0]; elements >= sliceBlock || i == len(groups)-1 {
			all = append(all, groups[begin:i+1])
			begin, elements = i+1, 0
		}
	}
	return all
}

// mergeSort is a stable sort that ends soon after ctx is cancelled. spare is as long as index.
func mergeSort[I any](ctx context.Context, index, spare []I, compare func(a, b I) int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(index) <= sliceBlock {
		slices.SortStableFunc(index, compare)
		return nil
	}
	middle := len(index) / 2
	if err := mergeSort(ctx, index[:middle], spare[:middle], compare); err != nil {
		return err
	}
	if err := mergeSort(ctx, index[middle:], spare[middle:], compare); err != nil {
		return err
	}

	copy(spare, index)
	left, right := spare[:middle], spare[middle:]
	for i := range index {
		if i%sliceBlock == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(right) == 0 || len(left) > 0 && compare(left[0], right[0]) <= 0 {
			index[i], left = left[0], left[1:]
		} else {
			index[i], right = right[0], right[1:]
		}
	}
	return nil
}

// inBlocks calls f for all elements from 0 to n, in blocks and in parallel, until stop returns an error.
func inBlocks(n int, stop func() error, f func(from, to int)) error {
	var group safely.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < n; from += sliceBlock {
		group.Go(func() error {
			if err := stop(); err != nil {
				return err
			}
			f(from, min(from+sliceBlock, n))
			return nil
		})
	}
	return group.Wait()
}

// copyParallel copies a slice that is sorted. It is not interrupted, so that the slice never has only a part of it.
func copyParallel[T any](to, from []T) error {
	never := func() error { return nil }
	return inBlocks(len(to), never, func(begin, end int) { copy(to[begin:end], from[begin:end]) })
}

// mustSpec returns the description of a record that has no faults.
func (r *Record) mustSpec() format.Spec {
	spec, faults := r.spec()
	if len(faults) > 0 {
		panic(errors.Join(faults...))
	}
	return spec
}
