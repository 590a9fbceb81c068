// Package extsort sorts files of fixed-size binary records that may be far larger than memory, on a GPU when there
// is one, in about the time that it takes to copy them.
//
//	report, err := extsort.Sort(ctx, extsort.Options{
//		Inputs: []string{"keys.bin"},
//		Record: format.Spec{Type: "u64"},
//		Output: "sorted.bin",
//	})
//
// The result is exact and stable: records with equal keys keep their input order, on every device and by every
// strategy the same bytes. The output appears whole under its name or not at all, the memory limit holds, and no
// temporary file outlives the process.
//
// # How a sort goes
//
// [Sort] opens the inputs and takes a sample of their keys. A cost model weighs the ways to the final order
// ([Plan] shows the outcome):
//
//   - copy: the input is in order as it stands, or in reverse order.
//   - in-core: everything fits one chunk. It is read once and written once.
//   - spread: several GPUs hold all of it together. Each sorts a share, and the shares are merged on their way out.
//   - reread: the page cache holds the input. It is read once for each chunk, which takes the least keys that are left.
//   - merge: chunks are cut by position; each is sorted and spilled as a run; the runs are merged. The last one is
//     not spilled but merged from memory, and the chunks are cut so that it is as large as can be.
//   - partition: one pass sends every record to a part, by the leading digits of its key or between splitters
//     taken from the sample; each part is sorted as a chunk, and the parts follow each other in the output.
//
// [Merge] is the last step alone, for files that are sorted already, and [Check] only reads.
//
// # The house
//
// Imports run one way, from the bottom up:
//
//	format   what bytes mean: record layouts, keys and their normalized form, containers, codecs, checksums, test data
//	device   what sorts one chunk: the Device contract; cpu; opencl with its kernels
//	chunker  what cuts the input: datasets, spill, runs, the partition by key
//	merge    what makes one output: the k-way merge, the output that appears whole or not at all, filters
//	extsort  this package: options, plan, the strategies, the report
//	cmd/extsort  the command
//
// Data flows one way too. Everything that takes sorted records is a [device.BlockWriter], which gets them in blocks,
// from several goroutines, each block with its place: a run that is spilled, a part's place in the output, the file
// itself. So a chunk on any device can go anywhere, and no step waits for the one before it to be finished.
//
//	files, stdin ─ chunker.Dataset ──chunks──▶ device.Chunk: Load ▸ Sort ▸ Store ──blocks──▶ run, merge or output
//
// In this package, sort.go tells the story, job.go prepares it, budget.go divides its memory, planner.go and rates.go decide,
// strategy.go, keep.go, passes.go, spread.go and partition.go do it, output.go and verify.go finish it.
package extsort
