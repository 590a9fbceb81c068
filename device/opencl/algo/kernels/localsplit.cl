// The sort of a tile in local memory by splits of one bit, as Satish, Harris and Garland do it, for split.cl and
// tile.cl. No kernels of its own.

// load_neighbours reads the tile at begin so that a work-item holds ITEMS neighbours; the reads from global memory
// are in order over the group, local memory turns them. Where there are no keys it puts the largest.
static inline void load_neighbours(word_t *keys, __global const word_t *in, ulong begin, ulong n,
	__local word_t *sorted)
{
	uint lid = get_local_id(0);
	for (uint i = lid; i < TILE; i += GROUP_SIZE)
		sorted[i] = begin + i < n ? in[begin + i] : WORD_MAX;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = 0; i < ITEMS; i++)
		keys[i] = sorted[lid * ITEMS + i];
}

// split_tile sorts the tile stably by the bits from, …, to − 1, one after the other: zeros go to the front, their
// position is the number of zeros before them; ones follow behind all zeros. The keys, ITEMS neighbours to a work-item,
// end in sorted, values in sortedValues. tmp has room for 2·GROUP_SIZE + 1 words.
static inline void split_tile(word_t *keys, uint *values, uint from, uint to, __local word_t *sorted,
	__local uint *sortedValues, __local uint *tmp)
{
	uint lid = get_local_id(0);
	__local uint *zerosInAll = tmp + 2 * GROUP_SIZE;
	for (uint bit = from; bit < to; bit++) {
		uint own = 0;
		for (uint i = 0; i < ITEMS; i++)
			own += 1 - digit_of(keys[i], bit, 1);
		uint zeros = scan_inclusive(own, tmp, lid, GROUP_SIZE) - own;
		if (lid == GROUP_SIZE - 1)
			*zerosInAll = zeros + own;
		barrier(CLK_LOCAL_MEM_FENCE);
		uint ones = *zerosInAll + lid * ITEMS - zeros;
		for (uint i = 0; i < ITEMS; i++) {
			uint at = digit_of(keys[i], bit, 1) ? ones++ : zeros++;
			sorted[at] = keys[i];
#if HAS_VALUES
			sortedValues[at] = values[i];
#endif
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint i = 0; i < ITEMS; i++) {
			keys[i] = sorted[lid * ITEMS + i];
#if HAS_VALUES
			values[i] = sortedValues[lid * ITEMS + i];
#endif
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

#if HAS_VALUES
static inline void load_neighbour_values(uint *values, __global const uint *in, ulong begin, ulong n)
{
	for (uint i = 0; i < ITEMS; i++) {
		ulong at = begin + get_local_id(0) * ITEMS + i;
		values[i] = at < n ? in[at] : 0;
	}
}
#endif

// count_digits sets counts[d] to the keys of digit d among the count first ones of a tile in local memory.
static inline void count_digits(const __local word_t *tile, uint count, uint shift, uint mask, __local uint *counts)
{
	for (uint d = get_local_id(0); d < RADIX; d += GROUP_SIZE)
		counts[d] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE)
		atomic_inc(&counts[digit_of(tile[i], shift, mask)]);
	barrier(CLK_LOCAL_MEM_FENCE);
}

// find_starts sets starts[d] to the position of the first key of digit d in a sorted tile, for digits that occur.
static inline void find_starts(const __local word_t *sorted, uint count, uint shift, uint mask, __local uint *starts)
{
	for (uint i = get_local_id(0); i < count; i += GROUP_SIZE) {
		uint digit = digit_of(sorted[i], shift, mask);
		if (i == 0 || digit_of(sorted[i - 1], shift, mask) != digit)
			starts[digit] = i;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}
