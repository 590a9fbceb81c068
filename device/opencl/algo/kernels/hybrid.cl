// A sort from the most significant bits on, for keys alone, after Elias Stehle and Hans-Arno Jacobsen, "A Memory
// Bandwidth-Efficient Hybrid Radix Sort on GPUs", SIGMOD 2017: two partitions of the array by some leading bits each
// make buckets that fit local memory, and hybrid_finish.cl sorts each of those there.
//
// Whatever the order inside of a bucket, the next step sorts it. So ranks may come from local atomic additions, which
// cost far less than a stable ranking by ballots, and a tile finds its place in a bucket by one global addition per
// digit, which needs no look-back: groups never wait for each other, and any OpenCL 1.2 device will do. Keys that are
// equal in all bits cannot be told apart, so that this is a stable sort all the same; keys with values need the
// others.
//
// Level 0 partitions the array, level 1 the 2^bits buckets of level 0, each in tiles of its own. At level 0 the array
// is cut into sections with counts and cursors of their own, lest all tiles queue at the same cursors; a
// bucket of the counts is a section there.
//
// hybrid_clear   counts of both levels ← 0, state ← 0.
// hybrid_count   in: keys, tiles (level 1), n. out: counts[bucket·2^bits + digit]; level 0: state[0] ← 1 when a key
//                differs from the first one in bits ≥ top, which the sample had shown as constant.
// hybrid_scan_sections   one group. in: counts of level 0. out: starts of the parts and tileStarts, the number of the
//                first tile of each, one more than there are parts; counts ← where the section's keys of a digit
//                begin.
// hybrid_scan_buckets    one group per bucket. in: counts of level 1, starts of level 0. out: starts of the parts, one
//                more than there are; counts ← the same, as cursors.
// hybrid_tiles   one group per bucket of level 1, and one more. out: tiles[t] = (bucket, first key, keys, 0).
// hybrid_move    in: keysIn, tiles, cursors. out: keysOut, each tile's keys of a digit side by side.
//
// Launch: GROUP_SIZE ≥ RADIX work-items a group; hybrid_count a group for COUNT_TILES tiles, hybrid_move one for
// each; of tiles there are TILES(n) at level 0, and at most that and one for each bucket at level 1. n < 2^30.
// Requires 32-bit local and global atomics, WORD_BYTES·TILE + 8·RADIX bytes of local memory.
//
// prelude.cl stands before this file, with DIGIT_BITS the most bits of a level.

#ifndef COUNT_TILES
#define COUNT_TILES 8 // tiles that a group counts before it adds its counts to those of all
#endif

__kernel void hybrid_clear(__global uint *counts0, __global uint *counts1, __global uint *state, uint words0,
	uint words1)
{
	for (uint i = get_global_id(0); i < max(words0, words1); i += get_global_size(0)) {
		if (i < words0)
			counts0[i] = 0;
		if (i < words1)
			counts1[i] = 0;
	}
	if (get_global_id(0) == 0)
		state[0] = 0;
}

// tile_at is (bucket, first key, keys, 0) of a tile. sectionTiles: the tiles of a section at level 0, 0 at level 1.
static inline uint4 tile_at(__global const uint4 *tiles, uint sectionTiles, uint tile, uint n)
{
	if (sectionTiles == 0)
		return tiles[tile];
	uint begin = tile * TILE;
	return (uint4)(tile / sectionTiles, begin, min((uint)TILE, n - begin), 0);
}

// read_tile reads count ≤ TILE keys, neighbours by neighbouring work-items.
static inline void read_tile(word_t *keys, __global const word_t *in, uint count)
{
	uint lid = get_local_id(0);
	if (count == TILE) {
#pragma unroll
		for (uint i = 0; i < ITEMS; i++)
			keys[i] = in[i * GROUP_SIZE + lid];
		return;
	}
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		keys[i] = i * GROUP_SIZE + lid < count ? in[i * GROUP_SIZE + lid] : 0;
}

// add_counts adds the group's counts to those of a bucket and clears them.
static inline void add_counts(__local uint *table, __global uint *counts, uint radix)
{
	uint lid = get_local_id(0);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lid < radix) {
		if (table[lid] != 0)
			atomic_add(&counts[lid], table[lid]);
		table[lid] = 0;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_count(__global const word_t *keys, __global uint *counts, __global const uint4 *tiles, __global uint *state,
	uint n, uint sectionTiles, uint tileCount, uint shift, uint bits, uint top)
{
	__local uint table[RADIX];
	uint lid = get_local_id(0), radix = 1u << bits;
	word_t odd = 0, one = keys[0];
	if (lid < RADIX)
		table[lid] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint tile = get_group_id(0) * COUNT_TILES;
	uint end = min(tile + COUNT_TILES, tileCount);
	uint bucket = tile_at(tiles, sectionTiles, tile, n).x;
	for (; tile < end; tile++) {
		uint4 at = tile_at(tiles, sectionTiles, tile, n);
		if (at.x != bucket)
			add_counts(table, counts + ((ulong)bucket << bits), radix);
		bucket = at.x;
		word_t some[ITEMS];
		read_tile(some, keys + at.y, at.z);
#pragma unroll
		for (uint i = 0; i < ITEMS; i++)
			if (i * GROUP_SIZE + lid < at.z) {
				odd |= some[i] ^ one;
				atomic_inc(&table[digit_of(some[i], shift, radix - 1)]);
			}
	}
	add_counts(table, counts + ((ulong)bucket << bits), radix);
	if (sectionTiles > 0 && odd >> (top - 1) >> 1 != 0)
		atomic_xchg(&state[0], 1);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_scan_sections(__global uint *counts, __global uint *starts, __global uint *tileStarts, uint n,
	uint sections, uint bits)
{
	__local uint tmp[2 * RADIX];
	uint lid = get_local_id(0), radix = 1u << bits;
	uint count = 0;
	for (uint s = 0; s < sections && lid < radix; s++)
		count += counts[(s << bits) + lid];
	uint start = scan_inclusive(count, tmp, lid, RADIX) - count;
	if (lid < radix)
		starts[lid] = start;
	for (uint s = 0; s < sections && lid < radix; s++) {
		uint own = counts[(s << bits) + lid];
		counts[(s << bits) + lid] = start;
		start += own;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	uint tileCount = (count + TILE - 1) / TILE;
	uint tiles = scan_inclusive(tileCount, tmp, lid, RADIX);
	if (lid < radix)
		tileStarts[lid] = tiles - tileCount;
	if (lid == radix - 1) {
		tileStarts[radix] = tiles;
		starts[radix] = n;
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_scan_buckets(__global uint *counts, __global const uint *bucketStarts, __global uint *starts,
	uint n, uint bits)
{
	__local uint tmp[2 * RADIX];
	uint lid = get_local_id(0), radix = 1u << bits, bucket = get_group_id(0);
	uint at = (bucket << bits) + lid;
	uint count = lid < radix ? counts[at] : 0;
	uint start = bucketStarts[bucket] + scan_inclusive(count, tmp, lid, RADIX) - count;
	if (lid < radix)
		counts[at] = starts[at] = start;
	if (lid == 0 && bucket == get_num_groups(0) - 1)
		starts[(bucket + 1) << bits] = n;
}

// Those past the last tile are empty and count as the last bucket's.
__kernel void hybrid_tiles(__global uint4 *tiles, __global const uint *starts, __global const uint *tileStarts,
	uint tileCount)
{
	uint bucket = get_group_id(0), buckets = get_num_groups(0) - 1;
	uint first = tileStarts[bucket];
	uint end = bucket < buckets ? tileStarts[bucket + 1] : tileCount;
	for (uint t = first + get_local_id(0); t < end; t += get_local_size(0)) {
		if (bucket == buckets) {
			tiles[t] = (uint4)(buckets - 1, 0, 0, 0);
			continue;
		}
		uint begin = starts[bucket] + (t - first) * TILE;
		tiles[t] = (uint4)(bucket, begin, min((uint)TILE, starts[bucket + 1] - begin), 0);
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_move(__global const word_t *keysIn, __global word_t *keysOut, __global uint *cursors,
	__global const uint4 *tiles, uint n, uint sectionTiles, uint shift, uint bits)
{
	__local ulong pool[(MAX_OF(WORD_BYTES * TILE, 8 * RADIX) + 7) / 8];
	__local uint counters[RADIX], to[RADIX];
	__local word_t *sorted = (__local word_t *)pool;
	uint lid = get_local_id(0), radix = 1u << bits;
	uint4 at = tile_at(tiles, sectionTiles, get_group_id(0), n);
	if (at.z == 0)
		return;
	if (lid < RADIX)
		counters[lid] = 0;
	word_t keys[ITEMS];
	read_tile(keys, keysIn + at.y, at.z);
	barrier(CLK_LOCAL_MEM_FENCE);

	uint ranks[ITEMS];
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		if (i * GROUP_SIZE + lid < at.z)
			ranks[i] = atomic_inc(&counters[digit_of(keys[i], shift, radix - 1)]);
	barrier(CLK_LOCAL_MEM_FENCE);

	uint total = 0, first = 0;
	if (lid < radix) {
		total = counters[lid];
		if (total != 0)
			first = atomic_add(&cursors[(at.x << bits) + lid], total);
	}
	uint start = scan_inclusive(total, (__local uint *)pool, lid, RADIX) - total;
	if (lid < radix) {
		counters[lid] = start;
		to[lid] = first - start;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		if (i * GROUP_SIZE + lid < at.z)
			sorted[counters[digit_of(keys[i], shift, radix - 1)] + ranks[i]] = keys[i];
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint place = i * GROUP_SIZE + lid;
		if (place < at.z) {
			word_t key = sorted[place];
			keysOut[to[digit_of(key, shift, radix - 1)] + place] = key;
		}
	}
}
