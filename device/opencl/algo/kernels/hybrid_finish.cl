// The last step of hybrid.cl: each bucket is sorted in local memory. One counting sort into BINS bins by the next bits
// leaves about one key in each bin where keys are spread evenly; the bins are then put in order by insertion, each
// work-item those of a stretch of its own.
//
// hybrid_finish   in: starts[get_num_groups(0) + 1] of the buckets. in and out: keys. state[0] ← 1 when a bucket is longer
//                 than a tile, or takes too many steps: it then holds the same keys in an order that is not sorted, and the
//                 host sorts by other means. shift: the lowest of the bits for the bins, 0 when no bits are left below.
//
// Launch: one group of GROUP_SIZE per bucket. Requires WORD_BYTES·TILE + about 2.3·BINS bytes of local memory.
//
// prelude.cl stands before this file, with DIGIT_BITS the bits of BINS.

#ifndef SHIFT_LIMIT
#define SHIFT_LIMIT 512 // steps by which the keys of one work-item are moved up before it gives up; about 10 are usual
#endif

#define BINS RADIX
#define WORDS_EACH (BINS / 2 / GROUP_SIZE) // words of two counters that a work-item scans
#define PAD(word) ((word) + (word) / WORDS_EACH) // so that lanes, WORDS_EACH apart, use different banks

// insert_keys puts sorted[begin, end) in order; false: it gave up.
static inline bool insert_keys(__local word_t *sorted, uint begin, uint end)
{
	uint steps = 0;
	for (uint i = begin + 1; i < end && steps < SHIFT_LIMIT; i++) {
		word_t key = sorted[i];
		uint at = i;
		for (; at > begin && sorted[at - 1] > key; at--, steps++)
			sorted[at] = sorted[at - 1];
		sorted[at] = key;
	}
	return steps < SHIFT_LIMIT;
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_finish(__global word_t *keys, __global const uint *starts, __global uint *state, uint shift, uint mask)
{
	__local ulong pool[(WORD_BYTES * TILE + 7) / 8];
	__local uint bins[PAD(BINS / 2)], tmp[2 * GROUP_SIZE];
	__local word_t *sorted = (__local word_t *)pool;
	uint lid = get_local_id(0);
	uint begin = starts[get_group_id(0)], count = starts[get_group_id(0) + 1] - begin;
	if (count > TILE && lid == 0)
		atomic_xchg(&state[0], 1);
	if (count > TILE || count < 2)
		return;

	keys += begin;
	for (uint i = lid; i < PAD(BINS / 2); i += GROUP_SIZE)
		bins[i] = 0;
	word_t mine[ITEMS];
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		mine[i] = i * GROUP_SIZE + lid < count ? keys[i * GROUP_SIZE + lid] : 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint ranks[ITEMS];
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		if (i * GROUP_SIZE + lid < count) {
			uint bin = digit_of(mine[i], shift, mask);
			ranks[i] = atomic_add(&bins[PAD(bin / 2)], 1u << bin % 2 * 16) >> bin % 2 * 16 & 0xffff;
		}
	barrier(CLK_LOCAL_MEM_FENCE);

	uint total = 0;
#pragma unroll
	for (uint w = 0; w < WORDS_EACH; w++) {
		uint two = bins[PAD(lid * WORDS_EACH + w)];
		total += (two & 0xffff) + (two >> 16);
	}
	uint first = scan_inclusive(total, tmp, lid, GROUP_SIZE) - total;
	uint next = first;
#pragma unroll
	for (uint w = 0; w < WORDS_EACH; w++) {
		uint two = bins[PAD(lid * WORDS_EACH + w)];
		bins[PAD(lid * WORDS_EACH + w)] = next | (next + (two & 0xffff)) << 16;
		next += (two & 0xffff) + (two >> 16);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		if (i * GROUP_SIZE + lid < count) {
			uint bin = digit_of(mine[i], shift, mask);
			sorted[(bins[PAD(bin / 2)] >> bin % 2 * 16 & 0xffff) + ranks[i]] = mine[i];
		}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (shift > 0 && !insert_keys(sorted, first, next))
		atomic_xchg(&state[0], 1);
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		if (i * GROUP_SIZE + lid < count)
			keys[i * GROUP_SIZE + lid] = sorted[i * GROUP_SIZE + lid];
}
