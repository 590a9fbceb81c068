// Parallel selection sort with blocks in local memory, after Eric Bainville, "OpenCL Sorting: Parallel Selection Sort",
// June 2011: as selection.cl, but a work-group reads the keys block by block into local memory, BLOCK_FACTOR of them
// per work-item, and counts there.
//
// selection_blocks   in: keys (values), n. out: keysOut (valuesOut), sorted stably by (key >> shift) & mask.
//
// Launch: groups of GROUP_SIZE, together at least n work-items. Requires GROUP_SIZE·BLOCK_FACTOR words of local memory.
//
// prelude.cl stands before this file.

#ifndef BLOCK_FACTOR
#define BLOCK_FACTOR 8 // keys that a work-item reads into a block; Bainville tried 1 to 32 and found 8 best, narrowly
#endif

#define BLOCK (BLOCK_FACTOR * GROUP_SIZE)

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void selection_blocks(__global const word_t *keysIn, __global word_t *keysOut, ulong n, uint shift,
	ulong mask VALUE_BUFFERS)
{
	__local word_t block[BLOCK];
	ulong i = get_global_id(0);
	word_t whole = i < n ? keysIn[i] : 0;
	word_t key = whole >> shift & (word_t)mask;
	offset_t to = 0;
	for (ulong j = 0; j < n; j += BLOCK) {
		uint count = min((ulong)BLOCK, n - j);
		barrier(CLK_LOCAL_MEM_FENCE); // until all are done with the block before
		for (uint at = get_local_id(0); at < count; at += GROUP_SIZE)
			block[at] = keysIn[j + at] >> shift & (word_t)mask;
		barrier(CLK_LOCAL_MEM_FENCE); // until all of this block is there
		for (uint at = 0; at < count; at++)
			to += block[at] < key || (block[at] == key && j + at < i);
	}
	if (i < n) {
		keysOut[to] = whole;
#if HAS_VALUES
		valuesOut[to] = valuesIn[i];
#endif
	}
}
