// The last step of hybrid.cl: each bucket is sorted in local memory. One counting sort into BINS bins by the next bits
// leaves about one key in each bin where keys are spread evenly; a key's place in its bin is then the number of keys
// there that are less, where neighbouring work-items read neighbouring words.
//
// hybrid_starts   in: keys, in the order of (key >> shift) & mask. out: starts[b] for each value b of that and one
//                 more. Any number of work-items. For keys that were sorted by their leading bits, whose buckets
//                 nobody counted.
// hybrid_finish   in: starts[get_num_groups(0) + 1] of the buckets, keys (values). out: keysOut, which may be keys
//                 where there are no values (valuesOut). state[0] ← 1 when a bucket is longer than a tile, or one of
//                 its bins holds more than CROWD keys that are not all equal: it then holds the same keys in an order
//                 that is not sorted, and the host sorts by other means. shift: the lowest of the bits for the bins,
//                 0 when no bits are left below.
//
// With values and keys of 8 bytes, local memory holds 4 of them, those from partShift on, just below the bits that
// all of the bucket share: so buckets may be larger. Ties in these, which are rare, are broken by reading the keys
// again.
//
// With values the order of equal keys counts, so that every key takes its position in the bucket along, and a crowded
// bin always ends the attempt, with nothing written for the bucket.
//
// Launch: one group of GROUP_SIZE per bucket. Requires WORD_BYTES·TILE + 4·BINS + 8·GROUP_SIZE bytes of local memory,
// with values 6·TILE in place of the first.
//
// prelude.cl stands before this file, with DIGIT_BITS the bits of BINS, a multiple of 4·GROUP_SIZE.

#ifndef CROWD
#define CROWD 48 // keys of a bin that look at each other
#endif

#if HAS_VALUES && WORD_BYTES == 8
typedef uint part_t; // what local memory holds of a key
#define PART_BYTES 4
#define part_of(key) ((part_t)((key) >> partShift))
#else
typedef word_t part_t;
#define PART_BYTES WORD_BYTES
#define part_of(key) (key)
#endif

#define BINS RADIX
#define QUADS (BINS / 4 / GROUP_SIZE) // of bins that a work-item scans, four at a time

// count_bins puts each key in a bin: ranks[i] is how many were there before it.
static inline void count_bins(const word_t *mine, uint *ranks, __local uint *bins, uint count, uint shift, uint mask)
{
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		if (i * GROUP_SIZE >= count)
			break;
		if (i * GROUP_SIZE + get_local_id(0) < count)
			ranks[i] = atomic_inc(&bins[digit_of(mine[i], shift, mask)]);
	}
}

// scan_bins makes of the counts the starts of the bins, and reports whether one of the work-item's is crowded.
static inline bool scan_bins(__local uint *bins, __local uint *tmp)
{
	__local uint4 *own = (__local uint4 *)bins + get_local_id(0) * QUADS;
	uint4 counts[QUADS];
	uint total = 0, most = 0;
#pragma unroll
	for (uint q = 0; q < QUADS; q++) {
		uint4 c = counts[q] = own[q];
		total += c.x + c.y + c.z + c.w;
		most = max(most, max(max(c.x, c.y), max(c.z, c.w)));
	}
	uint next = scan_inclusive(total, tmp, get_local_id(0), GROUP_SIZE) - total;
#pragma unroll
	for (uint q = 0; q < QUADS; q++) {
		uint4 c = counts[q];
		own[q] = (uint4)(next, next + c.x, next + c.x + c.y, next + c.x + c.y + c.z);
		next += c.x + c.y + c.z + c.w;
	}
	return most > CROWD;
}

// precedes reports whether the key at position i comes before the one at position at.
static inline bool precedes(const __local part_t *sorted, const __local ushort *came,
	__global const word_t *keys, uint i, uint at)
{
	if (sorted[i] != sorted[at] || i == at)
		return sorted[i] < sorted[at];
#if HAS_VALUES
	return keys[came[i]] < keys[came[at]] || (keys[came[i]] == keys[came[at]] && came[i] < came[at]);
#else
	return i < at;
#endif
}

// place_of is where the key at position at goes: behind all of its bin that precede it. In a bin of more than CROWD
// keys, which are all equal, it stays.
static inline uint place_of(uint at, const __local part_t *sorted, const __local ushort *came,
	__global const word_t *keys, const __local uint *bins, uint bin)
{
	uint first = bins[bin], end = bins[bin + 1], place = first;
	if (end - first > CROWD)
		return at;
	for (uint i = first; i < end; i++)
		place += precedes(sorted, came, keys, i, at);
	return place;
}

__kernel void hybrid_starts(__global const word_t *keys, __global uint *starts, uint n, uint shift, uint mask)
{
	for (uint b = get_global_id(0); b <= mask + 1; b += get_global_size(0)) {
		uint low = 0, high = n; // every key before low is in a lower bucket, none from high on
		while (low < high) {
			uint middle = low + (high - low) / 2;
			if (b > mask || digit_of(keys[middle], shift, mask) < b)
				low = middle + 1;
			else
				high = middle;
		}
		starts[b] = low;
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void hybrid_finish(__global const word_t *keys, __global word_t *keysOut, __global const uint *starts,
	__global uint *state, uint shift, uint mask, uint partShift VALUE_BUFFERS)
{
	__local ulong pool[(PART_BYTES * TILE + 7) / 8];
	__local uint bins[BINS + 4] __attribute__((aligned(16)));
	__local uint tmp[2 * GROUP_SIZE], crowded, mixed;
	__local ushort came[HAS_VALUES ? TILE : 1]; // where each key of sorted was
	__local part_t *sorted = (__local part_t *)pool;
	uint lid = get_local_id(0);
	uint begin = starts[get_group_id(0)], count = starts[get_group_id(0) + 1] - begin;
	if (count > TILE && lid == 0)
		atomic_xchg(&state[0], 1);
	if (count > TILE || count == 0)
		return;

	keys += begin;
	keysOut += begin;
	for (uint i = lid; i < BINS; i += GROUP_SIZE)
		bins[i] = 0;
	if (lid == 0) {
		crowded = mixed = 0;
		bins[BINS] = count;
	}
	word_t mine[ITEMS];
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		mine[i] = i * GROUP_SIZE + lid < count ? keys[i * GROUP_SIZE + lid] : 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint ranks[ITEMS];
	count_bins(mine, ranks, bins, count, shift, mask);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (scan_bins(bins, tmp) && (HAS_VALUES || shift > 0))
		crowded = 1;
	barrier(CLK_LOCAL_MEM_FENCE);
#if HAS_VALUES
	if (crowded) {
		if (lid == 0)
			atomic_xchg(&state[0], 1);
		return;
	}
#endif
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		if (i * GROUP_SIZE >= count)
			break;
		if (i * GROUP_SIZE + lid < count) {
			uint to = bins[digit_of(mine[i], shift, mask)] + ranks[i];
			sorted[to] = part_of(mine[i]);
#if HAS_VALUES
			came[to] = i * GROUP_SIZE + lid;
#endif
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	bool done = shift == 0;
#if !HAS_VALUES
	if (crowded) {
		for (uint at = lid; at < count; at += GROUP_SIZE) {
			uint bin = digit_of(sorted[at], shift, mask);
			if (at > bins[bin] && bins[bin + 1] - bins[bin] > CROWD && sorted[at] != sorted[at - 1])
				mixed = 1;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (mixed && lid == 0)
			atomic_xchg(&state[0], 1);
		done |= mixed;
	}
#endif
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint at = i * GROUP_SIZE + lid;
		if (i * GROUP_SIZE >= count)
			break;
		if (at < count) {
			part_t part = sorted[at];
#if HAS_VALUES
			uint place = place_of(at, sorted, came, keys, bins, digit_of(part, shift - partShift, mask));
			keysOut[place] = PART_BYTES == WORD_BYTES ? part : keys[came[at]];
			valuesOut[begin + place] = valuesIn[begin + came[at]];
#else
			uint place = done ? at : place_of(at, sorted, came, keys, bins, digit_of(part, shift, mask));
			keysOut[place] = part;
#endif
		}
	}
}
