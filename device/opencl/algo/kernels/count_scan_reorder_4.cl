// Count, scan, reorder as published: Takahiro Harada and Lee Howes, "Introduction to GPU Radix Sort", section 3, with
// 4 bits per pass, work-groups of 64 work-items, and 256 keys at a time sorted in local memory by counters of 8 bits,
// four of them packed in a word.
//
// count_items     in: keys, n. out: table[digit·groups + group]. A table of counts per work-item in local memory, so
//                 that no addition need be atomic; in the end a work-item per digit sums them (section 3.1).
// (scan_single of scan.cl then scans the table: one work-group, section 3.2.)
// reorder_packed  in: keys (values), n, the scanned table. out: keysOut (valuesOut). 256 keys are sorted by 2 bits
//                 twice, each time by one scan of packed counters, then written by equation 2 (section 3.3, figure 4).
//
// Launch: GROUP_SIZE (64) work-items a group; the same number of groups for both kernels, each of which takes one
// section of blocks of 256 keys. Requires about 5 KiB of local memory and local atomics.
//
// prelude.cl stands before this file, with ITEMS 4, so that GROUP_SIZE·ITEMS ≤ 256 keys fit counters of 8 bits.

#define BLOCKS(n) (((n) + TILE - 1) / TILE)
#define DIGITS 16

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void count_items(__global const word_t *keys, __global offset_t *table, ulong n, uint shift, uint mask)
{
	__local uint tables[DIGITS * GROUP_SIZE];
	uint lid = get_local_id(0);
	__local uint *mine = tables + lid; // a column each: no two work-items share a bank
	for (uint d = 0; d < DIGITS; d++)
		mine[d * GROUP_SIZE] = 0;
	ulong end = min(n, first_of(get_group_id(0) + 1, BLOCKS(n), get_num_groups(0)) * TILE);
	for (ulong i = first_of(get_group_id(0), BLOCKS(n), get_num_groups(0)) * TILE + lid; i < end; i += GROUP_SIZE)
		mine[digit_of(keys[i], shift, mask) * GROUP_SIZE]++;
	barrier(CLK_LOCAL_MEM_FENCE);

	if (lid < DIGITS) {
		offset_t sum = 0;
		for (uint item = 0; item < GROUP_SIZE; item++)
			sum += tables[lid * GROUP_SIZE + item];
		table[(ulong)lid * get_num_groups(0) + get_group_id(0)] = sum;
	}
}

// sort_2_bits sorts the group's TILE keys, ITEMS neighbours to a work-item, stably by 2 bits. A byte of packed counts
// keys of one digit: the exclusive scan is at most TILE − ITEMS < 256, so no byte overflows into the next.
static inline void sort_2_bits(word_t *keys, uint *values, uint shift, uint mask, __local word_t *sorted,
	__local uint *sortedValues, __local uint *tmp)
{
	uint lid = get_local_id(0);
	uint own = 0;
	for (uint i = 0; i < ITEMS; i++)
		own += 1u << 8 * digit_of(keys[i], shift, mask);
	__local uint *totals = tmp + 2 * GROUP_SIZE;
	uint before = scan_inclusive(own, tmp, lid, GROUP_SIZE) - own;
	if (lid == GROUP_SIZE - 1)
		for (uint d = 0; d < 4; d++) // unpacked, since a total can be 256
			totals[d] = (before >> 8 * d & 255) + (own >> 8 * d & 255);
	barrier(CLK_LOCAL_MEM_FENCE);

	for (uint i = 0; i < ITEMS; i++) {
		uint digit = digit_of(keys[i], shift, mask);
		uint rank = before >> 8 * digit & 255;
		for (uint d = 0; d < digit; d++)
			rank += totals[d];
		before += 1u << 8 * digit;
		sorted[rank] = keys[i];
#if HAS_VALUES
		sortedValues[rank] = values[i];
#endif
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < ITEMS; i++) {
		keys[i] = sorted[lid * ITEMS + i];
#if HAS_VALUES
		values[i] = sortedValues[lid * ITEMS + i];
#endif
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void reorder_packed(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *table, ulong n,
	uint shift, uint mask VALUE_BUFFERS)
{
	__local word_t sorted[TILE];
	__local uint sortedValues[HAS_VALUES ? TILE : 1];
	__local uint tmp[2 * GROUP_SIZE + 4];
	__local uint counts[DIGITS], localStarts[DIGITS];
	__local offset_t next[DIGITS]; // where the section's next key of each digit goes
	uint lid = get_local_id(0);
	if (lid < DIGITS) {
		next[lid] = table[(ulong)lid * get_num_groups(0) + get_group_id(0)];
		counts[lid] = 0;
	}
	ulong end = first_of(get_group_id(0) + 1, BLOCKS(n), get_num_groups(0));
	for (ulong block = first_of(get_group_id(0), BLOCKS(n), get_num_groups(0)); block < end; block++) {
		ulong at = block * TILE + lid * ITEMS;
		word_t keys[ITEMS];
		uint values[ITEMS];
		for (uint i = 0; i < ITEMS; i++) {
			keys[i] = at + i < n ? keysIn[at + i] : WORD_MAX; // what is missing sorts behind all and is not written
#if HAS_VALUES
			values[i] = at + i < n ? valuesIn[at + i] : 0;
#endif
		}
		for (uint bit = 0; bit < 4; bit += 2)
			sort_2_bits(keys, values, shift + bit, mask >> bit & 3, sorted, sortedValues, tmp);

		for (uint i = 0; i < ITEMS; i++)
			atomic_inc(&counts[digit_of(keys[i], shift, mask)]);
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lid < DIGITS) {
			uint start = 0;
			for (uint d = 0; d < lid; d++)
				start += counts[d];
			localStarts[lid] = start;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint i = lid; i < TILE; i += GROUP_SIZE) {
			uint digit = digit_of(sorted[i], shift, mask);
			offset_t to = i - localStarts[digit] + next[digit];
			if (block * TILE + i < n) {
				keysOut[to] = sorted[i];
#if HAS_VALUES
				valuesOut[to] = sortedValues[i];
#endif
			}
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lid < DIGITS) {
			next[lid] += counts[lid];
			counts[lid] = 0;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}
