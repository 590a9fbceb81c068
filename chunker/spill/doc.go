// Package spill stores sorted runs and unsorted parts on disk until they are merged or sorted.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A [Spill] consists of a few unlinked files in each temporary directory. Blocks are written to
// these files round robin, and compressed if that saves time. A [Run] is an index of blocks. Each
// entry contains the position of a block, the checksum of its bytes, and its first key. So
// several readers can read a run concurrently and in any order. Every block is verified when it
// is read. [Run.Close] returns the space to the file system. A [Checkpoint] keeps files and
// indexes for a later process.
package spill
