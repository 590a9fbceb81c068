// Package chunker divides the input into pieces that a device can sort.
//
// Only the root package of this module is stable: this package may change in any version.
//
// The records come from a [Dataset]. It consists of files, which several workers read at any
// offset; of a stream of unknown length, such as a pipe or a compressed file; or of a [Partition]
// that an earlier pass has spilled. [NewDataset] makes the first two kinds from opened inputs
// (package input). A dataset can be divided in two ways:
//
//   - by position, with [Dataset.Cut]: the next records that fill a chunk. Each sorted chunk
//     becomes a run, and the runs are merged.
//   - by key range, with [Scatter]: a single pass over all records sends each record to one of
//     several partitions. The sorted partitions then only need to be written one after another
//     (most significant digit first, MSD). A [Classifier] made from a sample of the keys decides
//     to which partition a record belongs.
//
// [Transformed] replaces the records of a dataset as they are read, for argsort, shuffle and
// computed keys.
// Package spill stores the sorted runs and the unsorted partitions.
package chunker
