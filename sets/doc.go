// Package sets combines sorted inputs by their keys: union, intersection, difference, comparison
// and join. It reads each input once, from beginning to end, in constant memory.
//
//	report, err := sets.Run(ctx, sets.Job{
//		Operation: sets.Subtract,
//		Input:     extsort.Input{Paths: []string{"today.bin", "yesterday.bin"}},
//		Record:    extsort.Record{Size: 20},
//		Output:    extsort.Output{Path: "new.bin"},
//	})
//
// The first input is called A, and the second one B. An operation selects keys. For each selected
// key, it writes all records of the first input that has the key. A join writes a row for each pair
// of records of A and B that have the same key. The output of each operation is sorted and stable.
//
// Inputs can be files, streams, compressed files, arrays or objects in a store. They can have
// different layouts: see [Job.Right]. A record out of order is an error: see [Job.Sort].
//
// docs/sets.md and docs/join.md explain the operations with examples of the command.
//
// # Stability
//
// Only the root package of this module is stable: this package may change in any version.
package sets
