package extsort

import "github.com/extsort/extsort/format"

// The types of keys. All of them are little-endian; BigEndian returns the big-endian type.
var (
	U8   = format.Type{Kind: format.Unsigned, Size: 1}
	U16  = format.Type{Kind: format.Unsigned, Size: 2}
	U32  = format.Type{Kind: format.Unsigned, Size: 4}
	U64  = format.Type{Kind: format.Unsigned, Size: 8}
	U128 = format.Type{Kind: format.Unsigned, Size: 16}
	I8   = format.Type{Kind: format.Signed, Size: 1}
	I16  = format.Type{Kind: format.Signed, Size: 2}
	I32  = format.Type{Kind: format.Signed, Size: 4}
	I64  = format.Type{Kind: format.Signed, Size: 8}
	I128 = format.Type{Kind: format.Signed, Size: 16}
	F32  = format.Type{Kind: format.Float, Size: 4}
	F64  = format.Type{Kind: format.Float, Size: 8}
)

// Bytes returns the type of a key of n bytes, which are compared as by memcmp.
func Bytes(n int) format.Type { return format.Type{Kind: format.Bytes, Size: n} }

// BigEndian returns the big-endian form of t, with the most significant byte first.
func BigEndian(t format.Type) format.Type {
	t.BigEndian = t.Kind != format.Bytes && t.Size > 1
	return t
}

// Keys describes records that consist of one key of type t.
func Keys(t format.Type) format.Spec { return format.Spec{Type: t.String()} }

// Record describes records of the given size. The methods Key and Desc of the result add key fields, the most
// significant first. Without key fields, the whole record is the key:
//
//	extsort.Record(100).Key(0, extsort.Bytes(10)).Desc().Key(96, extsort.U32)
func Record(bytes int) format.Spec { return format.Spec{RecordSize: bytes} }
