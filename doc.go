// Package extsort sorts files of fixed-size binary records that may be far larger than memory, within the memory that
// is allowed, and on a GPU when there is one.
//
//	report, err := extsort.Sort(ctx, extsort.Options{
//		Inputs: []string{"keys.bin"},
//		Record: extsort.Keys(extsort.U64),
//		Output: "sorted.bin",
//	})
//
// The result is exact and stable: records with equal keys keep their input order, on every device and by every
// strategy the same bytes. The output appears whole under its name or not at all, the memory limit holds, and no
// temporary file outlives the process, unless Options.Checkpoint asks for that, so that the same sort can go on after a
// crash.
//
// # How a sort goes
//
// [Sort] opens the inputs and takes a sample of their keys. A cost model weighs the ways to the final order
// ([Plan] shows the outcome, [PlanFor] for what is not there):
//
//   - copy: the input is in order as it stands, or in reverse order.
//   - in-core: everything fits one chunk. It is read once and written once.
//   - spread: several GPUs hold all of it together. Each sorts a share; the shares are merged into the output.
//   - sift: of an input that is nearly in order. It is read twice: first for what is out of order, which is sorted in
//     memory, then to write everything.
//   - reread: multi-pass. The page cache holds the input, which is read once for each chunk, the least keys first.
//   - merge: chunks are cut by position; each is sorted and spilled as a run; the runs are merged. The last one is
//     not spilled but merged from memory, and the chunks are cut so that it is as large as can be.
//   - partition: one pass sends every record to a part, by the leading digits of its key or between splitters
//     taken from the sample; each part is sorted as a chunk, and the parts follow each other in the output.
//
// [Merge] is the last step alone, for files that are sorted already, and [Check] only reads. [SortSlice] sorts what is
// in memory, and [Records] gives the records in order instead of writing them.
//
// # The house
//
// Imports run one way, from the bottom up:
//
//	format           what bytes mean: record layouts, keys and their normalized form, containers, codecs, test data
//	device           what sorts one chunk: the Device contract; cpu; opencl with its kernels
//	chunker          what cuts the input: datasets, the partition by key; input, spill and plan below it
//	merge            the k-way merge; merge/output makes an output that appears whole or not at all
//	internal/engine  runs a plan: one function a strategy
//	extsort          this package: options, facts, the report
//	cmd/extsort      the command
//
// A run is three steps: [Sort] gathers the facts (facts.go: inputs, a sample, devices, disks), chunker/plan chooses a
// plan from them and a profile of the machine, and internal/engine runs it. docs/dev/architecture.md has the drawings.
package extsort
