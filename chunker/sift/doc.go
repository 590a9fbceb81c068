// Package sift sorts data that are nearly in order without spilling them: most records of a log that is written as they
// come, or of a sorted file to which some were appended, stand in order already, and need not be moved.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A first reading chooses records that are in order, as many as it can find in one pass, and puts the others, the
// strays, into memory. They are sorted there, and a second reading merges them into the rest on its way to the output:
// two readings and one writing, whatever the size of the data. Choosing is what E. Ernerfeldt calls drop-merge sort
// (2017): of two records that cannot be combined the one goes by which fewer go. How many strays there are at least
// is Rem of H. Mannila, "Measures of presortedness and optimal sorting algorithms" (1985).
package sift
