// Package spill keeps sorted runs and unsorted parts on disk until they are merged or sorted.
//
// A [Spill] is a few unlinked files in each temporary directory, into which blocks are written round robin, compressed
// when that pays. A [Run] is the index of its blocks: each entry has the block's place, the checksum of its bytes and
// its first key, so that a run can be read in any order and by many readers. Reading checks the checksum; [Run.Close]
// gives the space back to the file system. A [Checkpoint] keeps files and indexes for a later process.
package spill
