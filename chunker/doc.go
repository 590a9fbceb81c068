// Package chunker cuts the input into pieces that a device can sort, and keeps the pieces on disk in between.
//
// # Datasets
//
// A Dataset is where records come from: regular files, read at any offset by several workers, or mapped into
// memory where they are many; a stream whose length nobody knows, such as a pipe or a compressed file; or a part that an
// earlier pass has spilled ([Part]). [OpenAll] and [NewDataset] make the first two. It can be cut in two ways:
//
//   - by position, with [Dataset.Cut]: the next records that fill a chunk. Sorted, each becomes a run, and the
//     runs are merged.
//   - by key range, with [Scatter]: one pass over all records sends each to one of several parts, so that the
//     sorted parts need only be written one after another (most significant digit first, MSD). A [Classifier]
//     made of a sample of the keys says which part a record belongs to.
//
// Sources of files that come from a disk are read ahead of their readers; one that is [Foreseen] may be so before it is read.
//
// # Spill
//
// Sorted runs and unsorted parts wait in a [Spill]: one unlinked file in each temporary folder, into which
// blocks are written round robin, compressed when that pays. A [Run] is the index of its blocks; each entry
// has the block's place, the checksum of its bytes and its first key, so that a run can be read in any order
// and by many readers. Reading checks the checksum; [Run.Close] gives the space back to the file system.
package chunker
