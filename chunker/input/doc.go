// Package input opens what is to be sorted: regular files, whose records can be read at any place ([Files]), and pipes,
// standard input and compressed files, which are read in sequence ([Stream]). [Open] opens both and reads their
// headers.
//
// Files that come from a disk are read ahead of their readers; [ReadAhead] has that done before they are read.
package input
