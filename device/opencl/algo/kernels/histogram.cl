// The histogram of every digit of the keys, in one reading of them.
//
// It shows which digits are constant, so that their passes are skipped, and gives each pass the position where the
// keys of each digit value begin (equation 1 of Harada & Howes for one section): a pass permutes the keys, so the
// counts hold for all passes. Adinets & Merrill 2022 begin the same way.
//
// histogram_clear   counts ← 0. Any number of work-items.
// histogram_count   in: keys, n. out: counts[2·(place·RADIX + digit)], 64 bits as two words, added to by
//                   all groups. GROUP_SIZE work-items a group, any number of groups (each takes a section).
// histogram_scan    in: counts. out: bases[place·RADIX + digit], the exclusive scan of a place's counts; varies[place],
//                   1 when more than one value of the digit occurs. One group of RADIX work-items per place.
//
// With CLAMPED the highest digit is so (digit_of), with the value least; else least is not looked at.
//
// Requires: 32-bit global and local atomics (core since OpenCL 1.1); local memory for HIST_PLACES·RADIX·HIST_COPIES
// words.

#ifndef HIST_PLACES
#define HIST_PLACES (WORD_BYTES * 8 / DIGIT_BITS) // digits of a key, at most
#endif
#ifndef HIST_COPIES
#define HIST_COPIES 2 // tables per group; more of them mean fewer collisions of atomic additions
#endif
#ifndef HIST_UNROLL
#define HIST_UNROLL 8 // keys that a work-item has in flight
#endif

__kernel void histogram_clear(__global uint *counts, uint words)
{
	for (uint i = get_global_id(0); i < words; i += get_global_size(0))
		counts[i] = 0;
}

// place_digit is the digit of a place.
static inline uint place_digit(word_t key, uint shift, uint toBit, word_t least)
{
#if CLAMPED
	if (shift + DIGIT_BITS >= toBit)
		return digit_of(key, shift, least);
#endif
	return (uint)(key >> shift) & ((1u << min((uint)DIGIT_BITS, toBit - shift)) - 1);
}

// add_digits counts the digits of HIST_UNROLL keys. Where all of them agree one addition does, which keeps sorted,
// skewed and constant data from queueing up at one counter.
static inline void add_digits(const word_t *keys, __local uint *table, uint fromBit, uint toBit, word_t least)
{
	word_t differ = 0;
#pragma unroll
	for (uint i = 1; i < HIST_UNROLL; i++)
		differ |= keys[0] ^ keys[i];
	uint place = 0;
	for (uint shift = fromBit; shift < toBit; shift += DIGIT_BITS, place++) {
		__local uint *counters = table + place * RADIX;
		if (place_digit(differ, shift, toBit, 0) == 0) {
			atomic_add(&counters[place_digit(keys[0], shift, toBit, least)], HIST_UNROLL);
			continue;
		}
#pragma unroll
		for (uint i = 0; i < HIST_UNROLL; i++)
			atomic_inc(&counters[place_digit(keys[i], shift, toBit, least)]);
	}
}

static inline void add_digits_of_one(word_t key, __local uint *table, uint fromBit, uint toBit, word_t least)
{
	uint place = 0;
	for (uint shift = fromBit; shift < toBit; shift += DIGIT_BITS, place++)
		atomic_inc(&table[place * RADIX + place_digit(key, shift, toBit, least)]);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void histogram_count(__global const word_t *keys, __global uint *counts, ulong n, uint fromBit, uint toBit,
	word_t least)
{
	__local uint tables[HIST_COPIES * HIST_PLACES * RADIX];
	uint lid = get_local_id(0);
	for (uint i = lid; i < HIST_COPIES * HIST_PLACES * RADIX; i += GROUP_SIZE)
		tables[i] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);

	__local uint *table = tables + lid % HIST_COPIES * (HIST_PLACES * RADIX);
	ulong block = GROUP_SIZE * HIST_UNROLL;
	ulong blocks = n / block;
	ulong end = first_of(get_group_id(0) + 1, blocks, get_num_groups(0));
	for (ulong b = first_of(get_group_id(0), blocks, get_num_groups(0)); b < end; b++) {
		word_t mine[HIST_UNROLL];
#pragma unroll
		for (uint i = 0; i < HIST_UNROLL; i++)
			mine[i] = keys[b * block + i * GROUP_SIZE + lid];
		add_digits(mine, table, fromBit, toBit, least);
	}
	if (get_group_id(0) == get_num_groups(0) - 1)
		for (ulong i = blocks * block + lid; i < n; i += GROUP_SIZE)
			add_digits_of_one(keys[i], table, fromBit, toBit, least);
	barrier(CLK_LOCAL_MEM_FENCE);

	// 64-bit sums by 32-bit atomics: whoever makes the low word wrap carries into the high one.
	for (uint i = lid; i < HIST_PLACES * RADIX; i += GROUP_SIZE) {
		uint sum = 0;
		for (uint c = 0; c < HIST_COPIES; c++)
			sum += tables[c * (HIST_PLACES * RADIX) + i];
		if (sum != 0 && atomic_add(&counts[2 * i], sum) + sum < sum)
			atomic_inc(&counts[2 * i + 1]);
	}
}

__kernel __attribute__((reqd_work_group_size(RADIX, 1, 1)))
void histogram_scan(__global const uint *counts, __global offset_t *bases, __global uint *varies, ulong n)
{
	__local offset_t tmp[2 * RADIX];
	__local uint constant_digit;
	uint lid = get_local_id(0);
	size_t i = get_group_id(0) * RADIX + lid;
	if (lid == 0)
		constant_digit = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	ulong count = (ulong)counts[2 * i + 1] << 32 | counts[2 * i];
	if (count == n)
		constant_digit = 1;
	offset_t sum = scan_inclusive_offset((offset_t)count, tmp, lid, RADIX);
	bases[i] = sum - (offset_t)count;
	if (lid == 0)
		varies[get_group_id(0)] = !constant_digit;
}
