// Package merge merges sorted inputs into one sorted sequence. Package merge/output decides where
// the result is written.
//
// Only the root package of this module is stable: this package may change in any version.
//
// There is one function for each kind of input:
//
//   - Merge takes runs: sorted sequences of blocks that can be read in any order. The index of a
//     run lists the first key of each block.
//   - Streams takes inputs that can only be read sequentially.
//   - Stores takes inputs that write themselves, such as sorted chunks in the memories of several
//     devices.
//
// Reduce and MergeLevels handle more runs than memory or the limit on open files allows. They
// merge groups of runs until one merge can take the rest. Every merge is stable: records with
// equal keys keep the order of their inputs, and their order within an input. The total order of
// all records is therefore (key, input, position), and no two records are equal in it.
//
// This order can be cut anywhere into spans. Any number of workers merge the spans independently
// and write them at their exact positions. A binary search in each input finds where a splitter
// cuts it: after the equal keys in inputs before the splitter's own, and before the equal keys in
// inputs after it. Therefore data with a single distinct key is cut as evenly as any other.
// (Varman et al., "Merging multiple lists on hierarchical-memory multiprocessors", 1991, cut
// sorted sequences at exact positions for a parallel merge. They compute splitters that make the
// pieces equal; this package uses splitters that are already known.) Cuts serves processes that
// share one merge without seeing each other: it computes where to cut each input into parts of an
// exact number of records, and each part is then merged as a whole.
//
//	        key ──▶
//	run a  ├a0─────────────┼a1─────────────────────┼a2──────────
//	run b  ├────b0─────────┊──────┼b1──────────────┊────────────
//	run c  ├────────c0─────┊──────────────┼c1──────┊────────────
//	       └──── span 0 ───┴───────── span 1 ──────┴── span 2 ──
//
// Merge cuts at the starts of blocks, for two reasons. First, the sorted list of all block starts
// is also the order in which the blocks are needed. (Knuth, The Art of Computer Programming,
// volume 3, section 5.4.9, calls this forecasting.) So every block is read once, before it is
// needed, and in addition to one buffer per run only a few buffers are needed for any fan-in.
// Second, a span of a few blocks is about as large as one block of output. A writer that needs
// its input in order, such as a pipe or a compressor, can therefore keep all workers busy.
//
//	loaders ─blocks in order of need─▶ dispatcher ─spans─▶ workers ─blocks of output─▶ device.BlockWriter
//	   ▲                                                      │
//	   └──────────────── buffers, when no span needs them ────┘
//
// A worker merges a span in tiles that fit the cache of a core. It merges a tile with a tree of
// branchless two-way merges, each of which works from both ends (twoway.go). A classical loser
// tree (Knuth, section 5.4.1) is slower, because each of its comparisons depends on the one
// before. If a record is only a key of up to 8 bytes, the merge moves the keys alone. Otherwise
// it merges keys with references to the records, and then moves each record once. Stretches that
// do not overlap are copied.
package merge
