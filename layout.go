package extsort

import "github.com/extsort/extsort/format"

// The types of keys, little-endian; of the larger ones BigEndian is the other order.
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

// Bytes is a key of n bytes that are compared as memcmp does.
func Bytes(n int) format.Type { return format.Type{Kind: format.Bytes, Size: n} }

// BigEndian is a type of numbers with its most significant byte first.
func BigEndian(t format.Type) format.Type {
	t.BigEndian = t.Kind != format.Bytes && t.Size > 1
	return t
}

// Keys are bare keys of a type: a record is one of them.
func Keys(t format.Type) format.Spec { return format.Spec{Type: t.String()} }

// Record is a record of so many bytes. Its methods Key and Desc add the fields of its key, the most significant first;
// without any the whole record is the key:
//
//	extsort.Record(100).Key(0, extsort.Bytes(10)).Desc().Key(96, extsort.U32)
func Record(bytes int) format.Spec { return format.Spec{RecordSize: bytes} }
