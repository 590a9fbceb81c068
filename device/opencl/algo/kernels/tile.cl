// The tile sort that David Koppelman analyses in "Analysis of a Radix Sort Algorithm on NVIDIA GPUs": Nadathur Satish,
// Mark Harris and Michael Garland, "Designing efficient sorting algorithms for manycore GPUs", IPDPS 2009. His symbols:
// h is DIGIT_BITS, e is ITEMS, B is GROUP_SIZE, a tile is eB keys.
//
// tile_sort      (pass 1) in: keys (values), n. out: keysOut (valuesOut), each tile sorted by the digit, by h splits of
//                one bit; table[digit·tiles + tile], the tile's histogram, column-major.
// (scan.cl then scans the table, which stands for his per-block histograms and digit offsets.)
// tile_scatter   (pass 2) in: the sorted tiles, n, the scanned table. out: keysOut (valuesOut).
//
// Both read and write all keys once: model.go has his formula of the bytes moved. Launch: one group of GROUP_SIZE per
// tile. Requires TILE·(WORD_BYTES + 4 with values) + 8·GROUP_SIZE + 4·RADIX bytes of local memory, local atomics.
//
// prelude.cl and localsplit.cl stand before this file.

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void tile_sort(__global const word_t *keysIn, __global word_t *keysOut, __global offset_t *table, ulong n, uint shift,
	uint mask VALUE_BUFFERS)
{
	__local word_t sorted[TILE];
	__local uint sortedValues[HAS_VALUES ? TILE : 1];
	__local uint tmp[2 * GROUP_SIZE + 1], counts[RADIX];
	ulong begin = (ulong)get_group_id(0) * TILE;
	uint count = min((ulong)TILE, n - begin);
	word_t keys[ITEMS];
	uint values[ITEMS];
	load_neighbours(keys, keysIn, begin, n, sorted);
#if HAS_VALUES
	load_neighbour_values(values, valuesIn, begin, n);
#endif
	split_tile(keys, values, shift, shift + popcount(mask), sorted, sortedValues, tmp);
	count_digits(sorted, count, shift, mask, counts);
	for (uint d = get_local_id(0); d < RADIX; d += GROUP_SIZE)
		table[(ulong)d * get_num_groups(0) + get_group_id(0)] = counts[d];
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE) {
		keysOut[begin + i] = sorted[i];
#if HAS_VALUES
		valuesOut[begin + i] = sortedValues[i];
#endif
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void tile_scatter(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *table, ulong n,
	uint shift, uint mask VALUE_BUFFERS)
{
	__local word_t sorted[TILE];
	__local uint starts[RADIX];
	ulong begin = (ulong)get_group_id(0) * TILE;
	uint count = min((ulong)TILE, n - begin);
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE)
		sorted[i] = keysIn[begin + i];
	barrier(CLK_LOCAL_MEM_FENCE);
	find_starts(sorted, count, shift, mask, starts);
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE) {
		uint digit = digit_of(sorted[i], shift, mask);
		ulong to = table[(ulong)digit * get_num_groups(0) + get_group_id(0)] + i - starts[digit];
		keysOut[to] = sorted[i];
#if HAS_VALUES
		valuesOut[to] = valuesIn[begin + i];
#endif
	}
}
