// Count, scan, reorder: the three steps of a pass of radix sort, after Takahiro Harada and Lee Howes, "Introduction to
// GPU Radix Sort", with digits of up to 8 bits and tiles ranked as in rank.cl. The default on every device.
//
// The array is cut into as many sections as there are work-groups, each of whole tiles but for the last.
//
// count      in: keys, n. out: table[digit·groups + group], the section's counts in column-major order, so that its
//            exclusive scan is equation 1 of the paper. Counted in local memory, one table per team.
// (scan_rows of scan.cl then scans each digit's row from where the histogram of all digits says that it begins.)
// reorder    in: keys (values), n, the scanned table. out: keysOut (valuesOut). A tile is ranked and sorted in local
//            memory, then written by equation 2: position i of its order goes to i − local start + global start of
//            its digit. The work-item that owns a digit keeps its global start from tile to tile.
//
// Launch: GROUP_SIZE work-items a group, GROUP_SIZE a multiple of 32 and at least RADIX; the same number of groups
// for both kernels. Barriers are uniform; groups never wait for each other. Requires local atomics (OpenCL 1.1) and
// about POOL_BYTES + 2 KiB of local memory.
//
// prelude.cl and rank.cl stand before this file.

#ifndef COUNT_UNROLL
#define COUNT_UNROLL 8 // keys that a work-item has in flight while it counts
#endif

// The tiles of the section of this group: [tile_first, tile_end).
#define TILES(n) (((n) + TILE - 1) / TILE)

static inline void count_keys(const word_t *keys, __local uint *table, uint shift, uint mask)
{
	word_t differ = 0;
#pragma unroll
	for (uint i = 1; i < COUNT_UNROLL; i++)
		differ |= keys[0] ^ keys[i];
	if (digit_of(differ, shift, mask) == 0) { // one addition for all: no queue at one counter when data is skewed
		atomic_add(&table[digit_of(keys[0], shift, mask)], COUNT_UNROLL);
		return;
	}
#pragma unroll
	for (uint i = 0; i < COUNT_UNROLL; i++)
		atomic_inc(&table[digit_of(keys[i], shift, mask)]);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void count(__global const word_t *keys, __global offset_t *table, ulong n, uint shift, uint mask)
{
	__local uint tables[HISTOGRAMS];
	uint lid = get_local_id(0);
	for (uint i = lid; i < HISTOGRAMS; i += GROUP_SIZE)
		tables[i] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);

	__local uint *mine = tables + lid / TEAM * RADIX;
	ulong at = first_of(get_group_id(0), TILES(n), get_num_groups(0)) * TILE;
	ulong end = min(n, first_of(get_group_id(0) + 1, TILES(n), get_num_groups(0)) * TILE);
	for (; at + GROUP_SIZE * COUNT_UNROLL <= end; at += GROUP_SIZE * COUNT_UNROLL) {
		word_t some[COUNT_UNROLL];
#pragma unroll
		for (uint i = 0; i < COUNT_UNROLL; i++)
			some[i] = keys[at + i * GROUP_SIZE + lid];
		count_keys(some, mine, shift, mask);
	}
	for (at += lid; at < end; at += GROUP_SIZE)
		atomic_inc(&mine[digit_of(keys[at], shift, mask)]);
	barrier(CLK_LOCAL_MEM_FENCE);

	if (lid < RADIX) {
		uint sum = 0;
		for (uint t = 0; t < TEAMS; t++)
			sum += tables[t * RADIX + lid];
		table[(ulong)lid * get_num_groups(0) + get_group_id(0)] = sum;
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void reorder(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *table, ulong n,
	uint shift, uint mask VALUE_BUFFERS)
{
	__local ulong pool[(POOL_BYTES + 7) / 8];
	__local offset_t starts[RADIX];
	__local uint *counters = (__local uint *)pool, *tmp = counters + RANK_WORDS;
	__local word_t *sorted = (__local word_t *)pool;
	uint lid = get_local_id(0);

	offset_t next = 0; // where the section's next key with digit lid goes
	if (lid < RADIX)
		next = table[(ulong)lid * get_num_groups(0) + get_group_id(0)];
	ulong end = first_of(get_group_id(0) + 1, TILES(n), get_num_groups(0));
	for (ulong tile = first_of(get_group_id(0), TILES(n), get_num_groups(0)); tile < end; tile++) {
		uint keyCount = min((ulong)TILE, n - tile * TILE);
		word_t keys[ITEMS];
		load_tile(keys, keysIn + tile * TILE, keyCount);
		clear_counters(counters);
		barrier(CLK_LOCAL_MEM_FENCE);
		uint ranks[ITEMS];
		rank_tile(keys, ranks, counters, shift, mask);
		barrier(CLK_LOCAL_MEM_FENCE);

		uint teams[TEAMS], total = 0;
		if (lid < RADIX)
			total = digit_total(counters, teams);
		uint start = scan_inclusive(total, tmp, lid, RADIX) - total;
		if (lid < RADIX) {
			digit_starts(counters, teams, start);
			starts[lid] = next - start;
			next += total;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
		for (uint i = 0; i < ITEMS; i++)
			ranks[i] += counters[lid / TEAM * RADIX + digit_of(keys[i], shift, mask)];
		barrier(CLK_LOCAL_MEM_FENCE);

#pragma unroll
		for (uint i = 0; i < ITEMS; i++)
			sorted[ranks[i]] = keys[i];
		barrier(CLK_LOCAL_MEM_FENCE);
		offset_t to[ITEMS];
		write_tile(keysOut, sorted, starts, to, keyCount, shift, mask);
#if HAS_VALUES
		uint values[ITEMS];
		load_values(values, valuesIn + tile * TILE, keyCount);
		move_values(values, ranks, (__local uint *)pool, valuesOut, to, keyCount);
#endif
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}
