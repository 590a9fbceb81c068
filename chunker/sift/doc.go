// Package sift sorts nearly sorted data without spilling it. Examples are a log that is written
// as its events arrive, or a sorted file to which some records were appended. Most of their
// records are already in order and need not be moved.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A first pass selects as many records in order as it can find, and copies the others, the strays,
// to memory. The strays are sorted there, and a second pass merges them with the rest on its way
// to the output. So the data is read twice and written once, whatever its size. The selection is
// what E. Ernerfeldt calls drop-merge sort (2017): if records contradict each other, it removes as
// few of them as possible. The minimum number of strays is the measure Rem of H. Mannila,
// "Measures of presortedness and optimal sorting algorithms" (1985).
package sift
