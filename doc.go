// Package extsort sorts files of fixed-size binary records. The files may be far larger than memory. A sort stays
// within a memory limit and uses a GPU if there is one.
//
//	report, err := extsort.Sort(ctx, extsort.Options{
//		Inputs: []string{"keys.bin"},
//		Record: extsort.Keys(extsort.U64),
//		Output: "sorted.bin",
//	})
//
// The result is exact and stable: records with equal keys keep their input order, and every device and strategy
// produces the same bytes. The output appears under its name only when it is complete. Temporary files do not outlive
// the process, unless Options.Checkpoint is set. With a checkpoint, the same sort can continue after a crash.
//
// # How a sort works
//
// [Sort] opens the inputs and takes a sample of their keys. A cost model then chooses one of these strategies. [Plan]
// returns the choice without sorting, and [PlanFor] does so for an input that does not exist yet.
//
//   - copy: the input is already in order, or in reverse order.
//   - in-core: all records fit in one chunk. The input is read once and written once.
//   - spread: the records fit in the memory of several GPUs. Each GPU sorts a share, and the shares are merged into the
//     output.
//   - sift: the input is nearly sorted. It is read twice. The first pass finds the records that are out of order and
//     sorts them in memory; the second pass writes everything.
//   - reread: a multi-pass sort, for an input in the page cache. Each pass reads the whole input and sorts one chunk,
//     starting with the lowest keys.
//   - merge: the input is cut into chunks by position. Each chunk is sorted and spilled as a run, and the runs are
//     merged. The last chunk, which is as large as possible, is merged from memory without being spilled.
//   - partition: one pass distributes the records to partitions, by the leading digits of their keys or by splitters
//     from the sample. Each partition is sorted as a chunk and appended to the output.
//
// [Merge] merges files that are already sorted, and [Check] checks whether a file is. [SortSlice] sorts records in
// memory, and [Records] iterates over the sorted records instead of writing them.
//
// # Packages
//
// Each package imports only packages above it in this list:
//
//	format           record layouts, keys and their normalized form, containers, codecs, test data
//	device           the Device contract: a device sorts one chunk; the devices cpu and opencl
//	chunker          divides the input, by position or by key; input, spill and plan are below it
//	merge            the k-way merge; merge/output writes outputs that appear completely or not at all
//	internal/engine  runs a plan, with one function for each strategy
//	extsort          this package: options, facts, the report
//	cmd/extsort      the command
//
// A sort has three steps: [Sort] gathers facts about the inputs, the devices and the disks; chunker/plan chooses a plan
// from these facts and a profile of the machine; internal/engine runs the plan. See docs/dev/architecture.md.
package extsort
