// Package merge makes one sorted sequence of many. Where it goes is for package output, below it.
//
// Merge takes runs: sorted sequences of blocks that can be read in any order and whose index tells the first key
// of each block. Streams takes inputs that can only be read from beginning to end, and Stores inputs that write
// themselves, such as the sorted chunks in the memories of several devices. Reduce and MergeLevels bring
// more runs than memory or open files allow down to as many as one merge can take. All of them are stable: of
// records with equal keys those of earlier inputs come first, and within an input the order stays. So the total
// order of all records is that of (key, input, position), and no two records are equal in it.
//
// That order can be cut anywhere into spans which are merged independently, by any number of workers, and are
// written at their exact places. A cut is found in each input by binary search for the splitter's key: past the
// equal keys in inputs before the splitter's own, before them in those after it. Hence data of one single key is
// cut as evenly as any other. (Cutting sorted sequences at exact positions for a parallel merge is Varman et al.,
// "Merging multiple lists on hierarchical-memory multiprocessors", 1991; there the splitters are computed to make
// the pieces equal, here they are what is known without computing anything.) Cuts is for those who share one merge and
// do not see each other: it computes where each input is cut for parts of exactly so many records, and each part is
// then merged as a whole.
//
//	        key ──▶
//	run a  ├a0─────────────┼a1─────────────────────┼a2──────────
//	run b  ├────b0─────────┊──────┼b1──────────────┊────────────
//	run c  ├────────c0─────┊──────────────┼c1──────┊────────────
//	       └──── span 0 ───┴───────── span 1 ──────┴── span 2 ──
//
// Merge cuts at the starts of blocks, for two reasons. The list of all starts in order is also the list in which
// blocks are needed (Knuth, The Art of Computer Programming, volume 3, section 5.4.9, calls this forecasting), so
// every block is read once, ahead of its use, and beyond one buffer per run only a few are needed for any fan-in.
// And a span of a few blocks is about one block of output, so that a writer that needs its input in order – a
// pipe, a compressor – still lets all workers work.
//
//	loaders ─blocks in order of need─▶ dispatcher ─spans─▶ workers ─blocks of output─▶ device.BlockWriter
//	   ▲                                                      │
//	   └──────────────── buffers, when no span needs them ────┘
//
// A span is merged in tiles that fit a core's cache, a tile by two-way merges that work from both ends without branches
// (twoway.go), because the comparisons of the classical tree of losers (Knuth, section 5.4.1) form one chain in which
// each waits for the one before. Keys of up to 8 bytes that are the whole record are merged alone. Other records are
// moved once, after their keys and references to them have been merged. Stretches that do not overlap are copied.
package merge
