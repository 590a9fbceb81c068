// Package tally counts and combines records in a hash table with an entry for each distinct key.
// If there are few of them, this is faster than sorting the records, and it takes little memory.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Table has one of two forms. Without rows, an entry is a key with the number of its records.
// This is enough for bare keys, whose records are rebuilt from them. With rows, an entry is a key
// with the place of its row, which contains everything that its result is computed from:
//
//	entries   key place │ · │ key place │ · │ …         a power of two, at most half of them in use
//	rows      count │ totals of measures │ position, first record │ position, last record
//
// Each worker fills a Table of its own with blocks in ascending order. Join then adds one Table to
// another. The positions of records in the input decide which record is the first or the last.
//
// Collisions are resolved by linear probing (Amdahl, Boehme, Rochester and Samuel, 1954; see Knuth,
// "The Art of Computer Programming", volume 3, section 6.4, algorithm L).
package tally
