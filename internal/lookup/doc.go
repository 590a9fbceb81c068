// Package lookup finds records by their keys in sorted files.
//
//	Open ─▶ Table ──▶ Find, Between     one look-up
//	          │  └──▶ Cursor            many look-ups in ascending order of the keys
//	          └─ Index                  the first key of each block; optional
//
// # Boundaries
//
// The key of a look-up is the beginning of a normalized key (see [format.Keyer]). It may be
// shorter than the keys of the records: the first field of several, or the first bytes of a byte
// string. All records that begin with it are consecutive:
//
//	records:   a1   a2   b1   b2   b3   c1
//	key "b":            ▲              ▲
//	                    before "b"     after "b"
//
// A look-up searches for such boundaries. See [boundary].
//
// # Search
//
// A search knows two records: the boundary is after the first and not after the second. It reads a
// window of records between them, which either contains the boundary or is on one side of it. The
// window is placed by linear interpolation between the two keys, which it treats as 64-bit numbers.
// For uniform keys, a guess that is d records away from a known record is off by about √d records
// (Perl, Itai and Avni 1978), so the second or third window contains the boundary. If the guesses
// fail, the search falls back to binary search. In total, it reads at most [maxMisses] windows more
// than a binary search.
//
// # Disorder
//
// Searches rely on the order of the records, and notice disorder only in the records that they
// read. [File.WriteIndex] reads and checks all records.
package lookup
