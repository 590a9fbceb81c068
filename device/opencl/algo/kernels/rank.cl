// How a tile of keys is ranked by one digit, for count_scan_reorder.cl and onesweep.cl. No kernels of its own.
//
// The work-group is cut into teams of 32 neighbouring work-items. A team owns 32·ITEMS neighbouring keys, and its
// work-items hold them striped, so that step i ranks 32 neighbours at once: a key comes after those of earlier teams,
// of earlier steps and of earlier work-items. For each team there is a counter for every digit value; in one step all
// work-items of a team learn, as a mask of 32 bits, which of them have the same digit (the "match" of Adinets &
// Merrill 2022), so a rank is counter + set bits below one's own, and is the same on every run. RANK says how the
// mask is made:
//
//   0  masks    work-items set their bits in a word in local memory by atomic or, whose order does not matter. Any
//               device: a team is 32 work-items, whether or not they run together; work-group barriers.
//   1  ballots  one ballot per bit of the digit, by inline PTX. NVIDIA, after probe.cl has been run.
//   2  masks    as 0, but with PTX's barrier of a warp in place of the work-group's. NVIDIA, after probe.cl.
//   3  ballots  as 1, by the ballot of a sub-group of 32 or 64 work-items (cl_khr_subgroups, cl_khr_subgroup_ballot).
//               Any device that offers them and on which probe.cl finds teams to lie within sub-groups.

#ifndef RANK
#define RANK 0 // how work-items with equal digits find each other, see above
#endif
#ifndef MASK_STEPS
#define MASK_STEPS 1 // steps between barriers when masks are used; each takes a word of local memory per team and digit
#endif

#define TEAM 32
#define TEAMS (GROUP_SIZE / TEAM)
#define HISTOGRAMS (TEAMS * RADIX)
#if RANK == 1 || RANK == 3
#define RANK_WORDS HISTOGRAMS // words of local memory for counters and masks
#else
#define RANK_WORDS ((1 + MASK_STEPS) * HISTOGRAMS)
#endif
// Counters, masks and scan; then the keys in order.
#define POOL_BYTES MAX_OF(4 * (RANK_WORDS + 2 * RADIX), WORD_BYTES * TILE)

// load_tile reads count ≤ TILE keys, striped over each team. Where there are none it puts the largest key: such keys
// come after all others in the tile's order, so they are never written.
static inline void load_tile(word_t *keys, __global const word_t *in, uint count)
{
	uint at = get_local_id(0) / TEAM * (TEAM * ITEMS) + get_local_id(0) % TEAM;
	if (count == TILE) {
#pragma unroll
		for (uint i = 0; i < ITEMS; i++)
			keys[i] = in[at + i * TEAM];
		return;
	}
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		keys[i] = at + i * TEAM < count ? in[at + i * TEAM] : WORD_MAX;
}

#if HAS_VALUES
static inline void load_values(uint *values, __global const uint *in, uint count)
{
	uint at = get_local_id(0) / TEAM * (TEAM * ITEMS) + get_local_id(0) % TEAM;
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		values[i] = at + i * TEAM < count ? in[at + i * TEAM] : 0;
}
#endif

// clear_counters sets counters and masks to zero. A barrier must come before their use.
static inline void clear_counters(__local volatile uint *counters)
{
	for (uint i = get_local_id(0); i < RANK_WORDS; i += GROUP_SIZE)
		counters[i] = 0;
}

// count_tile adds the team's digits to its counters. The order of additions does not matter here.
static inline void count_tile(const word_t *keys, __local volatile uint *counters, uint shift, mask_t mask)
{
	__local volatile uint *mine = counters + get_local_id(0) / TEAM * RADIX;
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		atomic_inc(&mine[digit_of(keys[i], shift, mask)]);
}

#if RANK == 1
// peers_of is the mask of the warp's lanes that have the same digit. All 32 lanes must come here together.
static inline uint peers_of(uint digit)
{
	uint peers = 0xffffffffu;
#pragma unroll
	for (uint bit = 0; bit < DIGIT_BITS; bit++) {
		uint same;
		asm volatile("{\n\t"
					 ".reg .pred p;\n\t"
					 "setp.ne.u32 p, %1, 0;\n\t"
					 "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t"
					 "@!p not.b32 %0, %0;\n\t"
					 "}"
					 : "=r"(same)
					 : "r"(digit & 1u << bit));
		peers &= same;
	}
	return peers;
}

// shuffle gives every lane the x of lane from.
static inline uint shuffle(uint x, uint from)
{
	uint y;
	asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(y) : "r"(x), "r"(from));
	return y;
}

// rank_tile ranks the keys: ranks[i] is the counter of the key's digit, plus the number of earlier keys of the team
// that have it; the counters go on by as much. The last of the peers counts for all of them.
static inline void rank_tile(const word_t *keys, uint *ranks, __local volatile uint *counters, uint shift, mask_t mask)
{
	uint lane = get_local_id(0) % TEAM;
	__local volatile uint *mine = counters + get_local_id(0) / TEAM * RADIX;
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint digit = digit_of(keys[i], shift, mask);
		uint peers = peers_of(digit);
		uint before = popcount(peers & ((1u << lane) - 1));
		uint last = 31 - clz(peers);
		uint start = 0;
		if (lane == last)
			start = atomic_add(&mine[digit], before + 1);
		ranks[i] = shuffle(start, last) + before;
	}
}
#elif RANK == 3
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable

// peers_of is the mask of the team's work-items that have the same digit. All of the sub-group must come here together.
static inline uint peers_of(uint digit)
{
	bool upper = get_sub_group_local_id() >= TEAM; // of a sub-group of 64
	uint peers = 0xffffffffu;
#pragma unroll
	for (uint bit = 0; bit < DIGIT_BITS; bit++) {
		int mine = digit >> bit & 1;
		uint4 all = sub_group_ballot(mine);
		uint ones = upper ? all.y : all.x;
		peers &= mine ? ones : ~ones;
	}
	return peers;
}

// rank_tile ranks the keys as the one above; who has the key's digit finds the counter in local memory.
static inline void rank_tile(const word_t *keys, uint *ranks, __local volatile uint *counters, uint shift, mask_t mask)
{
	uint below = (1u << get_local_id(0) % TEAM) - 1;
	__local volatile uint *mine = counters + get_local_id(0) / TEAM * RADIX;
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint digit = digit_of(keys[i], shift, mask);
		uint peers = peers_of(digit);
		ranks[i] = mine[digit] + popcount(peers & below);
		sub_group_barrier(CLK_LOCAL_MEM_FENCE);
		if ((peers & below) == 0)
			mine[digit] += popcount(peers);
		sub_group_barrier(CLK_LOCAL_MEM_FENCE);
	}
}
#else

#if RANK == 2
#define TEAM_BARRIER() asm volatile("bar.warp.sync 0xffffffff;" ::: "memory")
#else
#define TEAM_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif

// rank_tile ranks the keys: ranks[i] is the counter of the key's digit, plus the number of earlier keys of the team
// that have it; the counters go on by as much. The first of the peers counts for all of them and clears the mask.
static inline void rank_tile(const word_t *keys, uint *ranks, __local volatile uint *counters, uint shift, mask_t mask)
{
	uint below = (1u << get_local_id(0) % TEAM) - 1;
	__local volatile uint *mine = counters + get_local_id(0) / TEAM * RADIX;
	__local volatile uint *masks = mine + HISTOGRAMS;
#pragma unroll
	for (uint first = 0; first < ITEMS; first += MASK_STEPS) {
		uint peers[MASK_STEPS];
#pragma unroll
		for (uint k = 0; k < MASK_STEPS; k++)
			if (first + k < ITEMS)
				atomic_or(&masks[k * HISTOGRAMS + digit_of(keys[first + k], shift, mask)], below + 1);
		TEAM_BARRIER();
#pragma unroll
		for (uint k = 0; k < MASK_STEPS; k++) {
			if (first + k >= ITEMS)
				continue;
			uint digit = digit_of(keys[first + k], shift, mask);
			peers[k] = masks[k * HISTOGRAMS + digit];
			uint rank = mine[digit] + popcount(peers[k] & below);
#pragma unroll
			for (uint j = 0; j < k; j++)
				rank += popcount(masks[j * HISTOGRAMS + digit]);
			ranks[first + k] = rank;
		}
		TEAM_BARRIER();
#pragma unroll
		for (uint k = 0; k < MASK_STEPS; k++) {
			if (first + k >= ITEMS || (peers[k] & below) != 0)
				continue;
			uint digit = digit_of(keys[first + k], shift, mask);
			atomic_add(&mine[digit], popcount(peers[k]));
			masks[k * HISTOGRAMS + digit] = 0;
		}
		TEAM_BARRIER();
	}
}
#endif

// digit_total is how many keys of the tile have digit get_local_id(0) < RADIX; teams[t] becomes how many of them
// belong to teams before t.
static inline uint digit_total(const __local volatile uint *counters, uint *teams)
{
	uint total = 0;
#pragma unroll
	for (uint t = 0; t < TEAMS; t++) {
		uint count = counters[t * RADIX + get_local_id(0)];
		teams[t] = total;
		total += count;
	}
	return total;
}

// digit_starts sets the team's counters of digit get_local_id(0) < RADIX to the positions in the tile's order.
static inline void digit_starts(__local volatile uint *counters, const uint *teams, uint start)
{
#pragma unroll
	for (uint t = 0; t < TEAMS; t++)
		counters[t * RADIX + get_local_id(0)] = start + teams[t];
}

// write_tile writes the keys, which lie in order in local memory, to where their digit goes: position i of the
// tile's order to global[digit] + i (equation 2 of Harada & Howes). Neighbours mostly have the same digit, so the
// writes coalesce. to keeps the positions for the values.
static inline void write_tile(__global word_t *out, const __local word_t *sorted, const __local offset_t *global_,
	offset_t *to, uint count, uint shift, mask_t mask)
{
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint at = i * GROUP_SIZE + get_local_id(0);
		word_t key = sorted[at];
		to[i] = global_[digit_of(key, shift, mask)] + at;
		if (at < count)
			out[to[i]] = key;
	}
}

#if HAS_VALUES
// move_values sends the values after their keys, through the same local memory.
static inline void move_values(const uint *values, const uint *ranks, __local uint *sorted, __global uint *out,
	const offset_t *to, uint count)
{
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		sorted[ranks[i]] = values[i];
	barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
	for (uint i = 0; i < ITEMS; i++) {
		uint at = i * GROUP_SIZE + get_local_id(0);
		if (at < count)
			out[to[i]] = sorted[at];
	}
}
#endif
