// Package input opens the inputs of a sort and reads their records. [Open] recognizes compression
// and format, reads the headers, and returns one [Input] per source.
//
// Only the root package of this module is stable: this package may change in any version.
//
// # How inputs are read
//
// The records of an input are read in one of three ways:
//
//	mapped       regular files in the    copies from a mapping of the whole file
//	             page cache
//	requests     remote objects, and     several requests at a time, each with memory of its own;
//	             files with direct I/O   see [AllowRemote] and [UseDirectIO]
//	sequential   pipes, compressed       a stream of bytes that is read once
//	             files, archive members
//
// Files on a disk, block devices, files that cannot be mapped, an io.ReaderAt of the caller, and all
// files on a machine whose maps are slow are read with their ReadAt. See opener.shouldMap and
// opener.mapsAreSlow.
//
// # Datasets
//
// [Files] joins inputs that can all be read at any offset, so several goroutines can read different
// records at once. [Stream] joins inputs if at least one is sequential.
//
// For files on a disk, this package reads ahead of the readers, because the system reads too little
// ahead for several readers. [ReadAhead] starts this before the first read.
//
// # Changes while a sort runs
//
// A file may be truncated or written to while it is read. A read beyond the new end of a mapped
// file causes a fault (SIGBUS), which becomes an error; see mappedFile. All other changes are found
// at the end, by [Input.Check].
package input
