// Radix sort by splits, after Alex Dillhoff, "Parallel Radix Sort" (notes on Kirk, Hwu and El Hajj, chapter 13).
//
// One bit per pass, the exclusive scan of all bits in between (scan.cl):
// split_bits      in: keys, n. out: bits[i], the key's bit; bits[n] = 0, so that the scan leaves their sum there.
// split_scatter   in: keys (values), n, the scanned bits. out: keysOut (valuesOut). A zero goes to its index less the
//                 ones before it, a one to n − all ones + the ones before it. Launch of both: any number of work-items.
//
// Coalesced, with a choosable radix (DIGIT_BITS), the scan of the bucket sizes in between:
// split_count     in: keys, n. out: table[digit·tiles + tile], the sizes of each tile's local buckets.
// split_buckets   in: keys (values), n, the scanned table. out: keysOut (valuesOut). A group gathers its tile in local
//                 buckets and writes each to its place. Launch of both: one group of GROUP_SIZE per tile.
//
// Requires TILE·(WORD_BYTES + 4 with values) + 8·GROUP_SIZE + 4·RADIX bytes of local memory, local atomics.
//
// prelude.cl and localsplit.cl stand before this file.

__kernel void split_bits(__global const word_t *keys, __global offset_t *bits, ulong n, uint shift, uint mask)
{
	for (ulong i = get_global_id(0); i <= n; i += get_global_size(0))
		bits[i] = i < n ? digit_of(keys[i], shift, mask) : 0;
}

__kernel void split_scatter(__global const word_t *keysIn, __global word_t *keysOut,
	__global const offset_t *onesBefore, ulong n, uint shift, uint mask VALUE_BUFFERS)
{
	for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
		word_t key = keysIn[i];
		ulong to = digit_of(key, shift, mask) ? n - onesBefore[n] + onesBefore[i] : i - onesBefore[i];
		keysOut[to] = key;
#if HAS_VALUES
		valuesOut[to] = valuesIn[i];
#endif
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void split_count(__global const word_t *keys, __global offset_t *table, ulong n, uint shift, uint mask)
{
	__local word_t tile[TILE];
	__local uint counts[RADIX];
	ulong begin = (ulong)get_group_id(0) * TILE;
	uint count = min((ulong)TILE, n - begin);
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE)
		tile[i] = keys[begin + i];
	count_digits(tile, count, shift, mask, counts);
	for (uint d = get_local_id(0); d < RADIX; d += GROUP_SIZE)
		table[(ulong)d * get_num_groups(0) + get_group_id(0)] = counts[d];
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void split_buckets(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *table, ulong n,
	uint shift, uint mask VALUE_BUFFERS)
{
	__local word_t sorted[TILE];
	__local uint sortedValues[HAS_VALUES ? TILE : 1];
	__local uint tmp[2 * GROUP_SIZE + 1], starts[RADIX];
	ulong begin = (ulong)get_group_id(0) * TILE;
	uint count = min((ulong)TILE, n - begin);
	word_t keys[ITEMS];
	uint values[ITEMS];
	load_neighbours(keys, keysIn, begin, n, sorted);
#if HAS_VALUES
	load_neighbour_values(values, valuesIn, begin, n);
#endif
	split_tile(keys, values, shift, shift + popcount(mask), sorted, sortedValues, tmp);
	find_starts(sorted, count, shift, mask, starts);
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE) {
		uint digit = digit_of(sorted[i], shift, mask);
		ulong to = table[(ulong)digit * get_num_groups(0) + get_group_id(0)] + i - starts[digit];
		keysOut[to] = sorted[i];
#if HAS_VALUES
		valuesOut[to] = sortedValues[i];
#endif
	}
}
