// Package chunker cuts the input into pieces that a device can sort.
//
// A [Dataset] is where records come from: files, read at any offset by several workers; a stream whose length nobody
// knows, such as a pipe or a compressed file; or a [Part] that an earlier pass has spilled. [NewDataset] makes the
// first two of what package input has opened. It can be cut in two ways:
//
//   - by position, with [Dataset.Cut]: the next records that fill a chunk. Sorted, each becomes a run, and the
//     runs are merged.
//   - by key range, with [Scatter]: one pass over all records sends each to one of several parts, so that the
//     sorted parts need only be written one after another (most significant digit first, MSD). A [Classifier]
//     made of a sample of the keys says which part a record belongs to.
//
// Sorted runs and unsorted parts wait in package spill.
package chunker
