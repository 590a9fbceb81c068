// One-sweep radix sort, after Andy Adinets and Duane Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort
// for GPUs", 2022: each pass reads and writes the keys once. What the scan of other sorts does, a tile does by itself
// while it is in hand: it publishes its counts, and looks back at the tiles before it until it has met one that knows
// its sum from the first tile on (decoupled look-back).
//
// onesweep_clear   states ← 0, tickets[pass] ← 0. Before each pass; any number of work-items. abort is the host's.
// onesweep_pass    in: keysIn (valuesIn), n, bases[place·RADIX + digit] (where the keys of that digit begin), states of
//                  tiles·RADIX words, tickets. out: keysOut (valuesOut). abort: 0, or 1 + the first pass that failed.
//
// A group takes its tile number from a counter, so that the tiles before it have begun and go on: the device must let
// a group that has begun go on to its end. A device that does not is found out by a bound on every look (SPIN_LIMIT);
// the pass then sets abort and writes nothing more, later passes write nothing at all, and the host goes on from that
// pass's input with count_scan_reorder.cl.
//
// Flag and value stand in one word, so that no fence is needed between them: the 2 high bits are the flag. The values
// are 30 bits with STATE_BITS 32, for n < 2^30, else 62.
//
// Launch: GROUP_SIZE work-items a group, a multiple of 32 and at least RADIX; one group per tile. Requires about
// POOL_BYTES + 2 KiB of local memory, 32-bit atomics; 64-bit ones (cl_khr_int64_base_atomics) for STATE_BITS 64 unless
// NVIDIA, where aligned volatile accesses of 64 bits are single.
//
// prelude.cl and rank.cl stand before this file.

#ifndef STATE_BITS
#define STATE_BITS 32 // bits of a state word: 32 or 64
#endif
#ifndef SPIN_LIMIT
#define SPIN_LIMIT 4000000 // fruitless looks at one state before giving up; some seconds
#endif
#ifndef VOLATILE_STATES
#define VOLATILE_STATES 0 // 1: volatile loads and stores see other groups' words (NVIDIA); 0: atomic operations
#endif
#ifndef LOOK_AHEAD
#define LOOK_AHEAD 4 // states that are read at once
#endif

#if STATE_BITS == 64
#if !VOLATILE_STATES
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
typedef ulong state_t;
#define load_atomic(p) atom_add(p, (state_t)0)
#define store_atomic(p, x) atom_xchg(p, x)
#else
typedef uint state_t;
#define load_atomic(p) atomic_or(p, (state_t)0)
#define store_atomic(p, x) atomic_xchg(p, x)
#endif
#define FLAG_SHIFT (STATE_BITS - 2)
#define VALUE_MASK (((state_t)1 << FLAG_SHIFT) - 1)
#define COUNT_KNOWN ((state_t)1 << FLAG_SHIFT) // value: this tile's count of the digit
#define SUM_KNOWN ((state_t)2 << FLAG_SHIFT)   // value: the count of this tile and all before it

static inline state_t load_state(volatile __global state_t *p)
{
#if VOLATILE_STATES
	return *p;
#else
	return load_atomic(p);
#endif
}

static inline void store_state(volatile __global state_t *p, state_t x)
{
#if VOLATILE_STATES
	*p = x;
#else
	store_atomic(p, x);
#endif
}

__kernel void onesweep_clear(__global state_t *states, __global uint *tickets, ulong words, uint pass)
{
	for (ulong i = get_global_id(0); i < words; i += get_global_size(0))
		states[i] = 0;
	if (get_global_id(0) == 0)
		tickets[pass] = 0;
}

// look_back sums the counts of the tiles before this one for one digit. It gives up, and says so by true, when a tile
// stays silent for too long or another group has given up.
static inline bool look_back(volatile __global state_t *states, uint tile, volatile __global uint *abort_, state_t *sum)
{
	uint spins = 0;
	while (tile > 0) {
		state_t seen[LOOK_AHEAD];
#pragma unroll
		for (uint i = 0; i < LOOK_AHEAD; i++)
			seen[i] = load_state(&states[(ulong)(tile - 1 - min(i, tile - 1)) * RADIX]);
		bool silent = false;
#pragma unroll
		for (uint i = 0; i < LOOK_AHEAD; i++) {
			if (silent || tile == 0)
				continue;
			silent = seen[i] == 0;
			*sum += seen[i] & VALUE_MASK;
			tile = seen[i] >= SUM_KNOWN ? 0 : tile - (silent ? 0 : 1);
			spins = silent ? spins : 0;
		}
		if (silent && (++spins >= SPIN_LIMIT || (spins % 1024 == 0 && atomic_or(abort_, 0) != 0)))
			return true;
	}
	return false;
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void onesweep_pass(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *bases,
	volatile __global state_t *states, volatile __global uint *tickets, volatile __global uint *abort_, ulong n, uint pass,
	uint place, uint shift, mask_t mask VALUE_BUFFERS)
{
	__local ulong pool[(POOL_BYTES + 7) / 8];
	__local offset_t starts[RADIX];
	__local uint ticket, aborted;
	__local uint *counters = (__local uint *)pool, *tmp = counters + RANK_WORDS;
	__local word_t *sorted = (__local word_t *)pool;
	uint lid = get_local_id(0);

	if (lid == 0) {
		ticket = atomic_inc(&tickets[pass]);
		aborted = atomic_or(abort_, 0);
	}
	clear_counters(counters);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (aborted)
		return;
	uint tile = ticket;
	uint count = min((ulong)TILE, n - (ulong)tile * TILE);
	word_t keys[ITEMS];
	load_tile(keys, keysIn + (ulong)tile * TILE, count);

	// Counted before they are ranked, so that the tiles behind get to know early.
	count_tile(keys, counters, shift, mask);
	barrier(CLK_LOCAL_MEM_FENCE);
	uint teams[TEAMS], total = 0;
	volatile __global state_t *mine = states + (ulong)tile * RADIX + lid;
	if (lid < RADIX) {
		total = digit_total(counters, teams);
		store_state(mine, total | (tile == 0 ? SUM_KNOWN : COUNT_KNOWN));
	}
	uint start = scan_inclusive(total, tmp, lid, RADIX) - total;
	if (lid < RADIX)
		digit_starts(counters, teams, start);
	barrier(CLK_LOCAL_MEM_FENCE);
	uint ranks[ITEMS];
	rank_tile(keys, ranks, counters, shift, mask);

	if (lid < RADIX) {
		state_t before = 0;
		bool failed = look_back(states + lid, tile, abort_, &before);
		if (failed) {
			aborted = 1;
			atomic_cmpxchg(abort_, 0, pass + 1);
		} else if (tile > 0)
			store_state(mine, (before + total) | SUM_KNOWN);
		starts[lid] = bases[place * RADIX + lid] + (offset_t)before - start;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (aborted)
		return;

#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		sorted[ranks[i]] = keys[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	offset_t to[ITEMS];
	write_tile(keysOut, sorted, starts, to, count, shift, mask);
#if HAS_VALUES
	uint values[ITEMS];
	load_values(values, valuesIn + (ulong)tile * TILE, count);
	move_values(values, ranks, (__local uint *)pool, valuesOut, to, count);
#endif
}
