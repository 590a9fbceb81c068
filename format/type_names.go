package format

import (
	"slices"
	"strconv"
	"strings"
)

// byteTypes maps common names of byte strings, such as identifiers and digests, to their lengths.
// They are ordered as bytes.
var byteTypes = map[string]int{
	"uuid": 16, "guid": 16, "ulid": 16, "md5": 16, "sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64,
}

var (
	// numpyType matches a type in NumPy's notation, with its byte order: <u8, >f4, |S10. Its size
	// is in bytes, or for U in characters.
	numpyType = lazyRegexp(`^([<>|=])([a-zA-Z])([0-9]+)$`)

	// lengthType matches a type with its length in bytes: char10, NumPy's S10, and FI4, BI4, ZD5,
	// PD3 and CH10 of DFSORT.
	lengthType = lazyRegexp(
		`^(char|binary|S|a|V|CH|ch|BI|bi|FI|fi|ZD|zd|PD|pd)([0-9]+)$`,
	)
)

// NamedType parses a type by its name in another language or program: uint64_t, Double, U64,
// u32le, NumPy's <u8 and S10, DFSORT's FI4, uuid. It also accepts the names of ParseType.
func NamedType(name string) (t Type, ok bool) {
	if t, err := ParseType(name); err == nil {
		return t, true
	}
	if parts := numpyType().FindStringSubmatch(name); parts != nil {
		return numpyNamed(parts[1], parts[2], parts[3])
	}
	if parts := lengthType().FindStringSubmatch(name); parts != nil {
		return countedNamed(parts[1], parts[2])
	}

	base := strings.ToLower(name)
	if t, err := ParseType(base); err == nil {
		return t, true
	}
	if size := byteTypes[base]; size > 0 {
		return Type{Kind: Bytes, Size: size}, true
	}
	if t, ok := numberNamed(base, false); ok { // includes double, which ends with le
		return t, true
	}
	if number, ok := strings.CutSuffix(base, "be"); ok {
		return numberNamed(number, true)
	}
	return numberNamed(strings.TrimSuffix(base, "le"), false)
}

// numberNamed returns the number with a lower-case name or alias, which may have the suffix _t,
// as in uint64_t.
func numberNamed(name string, bigEndian bool) (t Type, ok bool) {
	if strings.ContainsAny(name, "0123456789") {
		name = strings.TrimSuffix(name, "_t")
	}
	for i := range numberTypes {
		n := &numberTypes[i]
		if n.name == name || slices.Contains(strings.Fields(n.aliases), name) {
			return n.typeOf(bigEndian), true
		}
	}

	return Type{}, false
}

// numpyNamed returns the NumPy type with a letter and a size. The byte order = is that of this
// machine.
func numpyNamed(order, letter, size string) (t Type, ok bool) {
	count, err := strconv.Atoi(size)
	bigEndian := order == ">" || order == "=" && hostBigEndian
	switch {
	case err != nil || count < 1 || count > MaxKeyBytes:
		return Type{}, false
	case strings.Contains("SaV", letter):
		return Type{Kind: Bytes, Size: count}, true
	case letter == "U":
		return Type{
			Kind:      UCS,
			Size:      count * ucsBytes,
			BigEndian: bigEndian,
		}, count <= MaxKeyBytes/ucsBytes
	case letter+size == "b1":
		return Type{Kind: Unsigned, Size: 1}, true
	}

	for i := range numberTypes {
		n := &numberTypes[i]
		if n.npy == letter+size {
			return n.typeOf(bigEndian), true
		}
	}

	return Type{}, false
}

// countedNamed returns the type with a name and its length in bytes. The mainframe types FI and
// BI are big-endian. A BI is ordered as bytes, so any length has a type.
func countedNamed(word, size string) (t Type, ok bool) {
	count, err := strconv.Atoi(size)
	if err != nil || count < 1 || count > MaxKeyBytes {
		return Type{}, false
	}
	kind := Bytes
	switch strings.ToUpper(word) {
	case "FI":
		kind = Signed
	case "BI":
		kind = Unsigned
	case "ZD":
		return Type{Kind: Zoned, Size: count}, count <= maxZonedBytes
	case "PD":
		return Type{Kind: Packed, Size: count}, count <= maxPackedBytes
	case "S": // S32 may be 32 bytes or a signed integer of 32 bits
		signed := Type{Kind: Signed, Size: count / 8}
		return Type{
			Kind: Bytes,
			Size: count,
		}, count%8 != 0 || signed.number() == nil
	}

	t = Type{
		Kind:      kind,
		Size:      count,
		BigEndian: kind != Bytes && count > 1,
	}
	if kind == Unsigned && t.number() == nil {
		t = Type{Kind: Bytes, Size: count}
	}
	return t, t.Kind == Bytes || t.number() != nil
}

// TypeNames returns all names of numbers and of byte strings of fixed length that NamedType
// accepts, except names with a length.
func TypeNames() (names []string) {
	for i := range numberTypes {
		n := &numberTypes[i]
		for _, name := range append(strings.Fields(n.aliases), n.name) {
			names = append(names, name)
			if n.bits > 8 {
				names = append(names, name+"be", name+"le")
			}
		}
	}

	for name := range byteTypes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
