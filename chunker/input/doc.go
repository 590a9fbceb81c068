// Package input opens the inputs of a sort. Regular files can be read at any offset ([Files]).
// Pipes, standard input and compressed files are read sequentially ([Stream]). [Open] opens both
// kinds and reads their headers.
//
// Only the root package of this module is stable: this package may change in any version.
//
// Files on a disk are read ahead of their readers. [ReadAhead] starts this before the first read.
package input
