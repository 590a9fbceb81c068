package extsort

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/extsort/extsort/format"
)

// A Record describes the records of the inputs. Set exactly one of Format, Type and Size:
//
//	Record{Type: U64}                                          // a file of numbers
//	Record{Size: 100}                                          // 100-byte records, ordered by all bytes
//	Record{Size: 16, Keys: []KeyField{{Offset: 8, Type: U32}}} // ordered by the number at byte 8
//	Record{Format: "npy", Keys: []KeyField{{Name: "mass"}}}    // a NumPy array, ordered by field mass
//
// Some formats use Type, Size or Keys in addition to Format.
type Record struct {
	// Format is the name of a file format: gensort, npy, npz, sosd, fvecs, bvecs, ivecs, fbin,
	// u8bin, i8bin or ibin. The output has the same format as the inputs. "" means plain records
	// without a header.
	Format string

	Type   Type       // the type of plain numbers; also the element type that sosd and npy files must have
	Size   int        // bytes of a plain record
	Keys   []KeyField // the key fields, the most significant first; none: the whole record, compared as bytes
	Member string     // the name of the array in an npz archive; "": its only array

	NaN NaNOrder // the position of NaNs in all key fields; "": IEEE 754 totalOrder

	// NumericFloats compares floats by value: −0 equals +0, and all NaNs are equal. NaNs sort last,
	// unless NaN is NaNFirst. By default, floats are in IEEE 754 totalOrder: −0 sorts before +0,
	// NaNs with a sign bit first, and other NaNs last.
	NumericFloats bool
}

// A KeyField is one field of the key.
type KeyField struct {
	Offset int  // bytes from the beginning of the record
	Type   Type // the type of the field

	// Name replaces Offset and Type for arrays of Format npy and npz. It is the name of a field of
	// a structured array, or the number of a column, from 0.
	Name string

	// Compute replaces Offset, Type and Name by a function of fields, for example
	// "hilbert(lon,lat)", "morton(0:u16,2:u16,bits=16)", "bit_reverse(id)" or "xxh64(0:bytes12)". Only
	// sorts and checks compute keys; the output does not contain them unless Job.KeepKey is set.
	Compute string

	Desc bool // largest values first
}

// A Type is the type of a key. These are all types:
//
//	u8 u16 u24 u32 u40 u48 u64 u128    unsigned integers
//	i8 i16 i24 i32 i40 i48 i64 i128    signed integers, in two's complement
//	f16 bf16 f32 f64                   IEEE 754 floats, and bfloat16
//	f80 f80in96 f80in128               80-bit floats of the x87, padded to 12 or 16 bytes
//	bytesN                             N bytes, compared as by bytes.Compare; see Bytes
//	ucsN                               N characters of 4 bytes, compared by their code points
//	time_s time_ms time_us time_ns     64-bit integers that reports show as times
//	ebcdicN zonedN packedN             text and decimal numbers of mainframes, in N bytes
//
// Numbers and characters are little-endian. The suffix be makes them big-endian: U32 + "be" is
// u32be, with the most significant byte first. Types without a constant are strings, as in
// KeyField{Type: "u24"}.
type Type string

// The most common types.
const (
	U8  Type = "u8"
	U16 Type = "u16"
	U32 Type = "u32"
	U64 Type = "u64"
	I8  Type = "i8"
	I16 Type = "i16"
	I32 Type = "i32"
	I64 Type = "i64"
	F32 Type = "f32"
	F64 Type = "f64"
)

// Bytes returns the type of n bytes, which are compared as by bytes.Compare. n must be from 1 to
// 65,536.
func Bytes(n int) Type { return Type("bytes" + strconv.Itoa(n)) }

// A NaNOrder is the position of NaNs and of NumPy's NaT. The zero value is IEEE 754 totalOrder:
// NaNs are at both ends, by their sign bits.
type NaNOrder string

// The positions of NaNs, in both directions of the sort.
const (
	NaNFirst NaNOrder = "first"
	NaNLast  NaNOrder = "last"
)

// spec returns the description of the record for package format.
func (r *Record) spec() (format.Spec, []error) {
	spec := format.Spec{
		Format:     r.Format,
		Type:       string(r.Type),
		Member:     r.Member,
		RecordSize: r.Size,
		NaN:        string(r.NaN),
	}
	if r.NumericFloats {
		spec.Float = "numeric"
	}

	var faults []error
	for i, key := range r.Keys {
		keyFaults := key.check(fmt.Sprintf("Record.Keys[%d]", i))
		if len(keyFaults) == 0 {
			spec.Keys = append(spec.Keys, key.text())
		}
		faults = append(faults, keyFaults...)
	}
	return spec, faults
}

// check returns all errors in the field. option is its name.
func (k KeyField) check(option string) (faults []error) {
	if k.Compute != "" {
		return k.checkComputed(option)
	}
	if k.Name != "" {
		if k.Type != "" || k.Offset != 0 {
			faults = append(faults, optionErrorf(option, "has a Name, which replaces Offset and Type: leave them out"))
		}
		return faults
	}
	if k.Offset < 0 {
		faults = append(faults, optionErrorf(option+".Offset", "%d: must not be negative", k.Offset))
	}
	if k.Type == "" {
		return append(faults, optionErrorf(option+".Type", "is missing: set it, for example to extsort.U32"))
	}
	if _, err := format.ParseType(string(k.Type)); err != nil {
		option += ".Type"
		faults = append(faults, &OptionError{Option: option, text: option + ": " + err.Error()})
	}
	return faults
}

// checkComputed returns all errors in a computed key. option is the name of the field.
func (k KeyField) checkComputed(option string) (faults []error) {
	if k.Name != "" || k.Type != "" || k.Offset != 0 {
		faults = append(faults, optionErrorf(option, "has a Compute, which replaces Offset, Type and Name: leave them out"))
	}
	if _, _, ok := format.ParseCall(k.Compute); !ok || strings.Contains(k.Compute, "):") {
		faults = append(faults, optionErrorf(option+".Compute", "%q: want FUNCTION(FIELD,FIELD), where FUNCTION is %s",
			k.Compute, strings.Join(format.KeyFunctions, ", ")))
	}
	return faults
}

// text returns the field in the syntax of package format: OFFSET:TYPE[:desc], NAME[:desc] or
// FUNCTION(FIELD,FIELD)[:desc].
func (k KeyField) text() string {
	text := cmp.Or(k.Compute, k.Name)
	if text == "" {
		text = fmt.Sprintf("%d:%s", k.Offset, k.Type)
	}
	if k.Desc {
		text += ":desc"
	}
	return text
}
