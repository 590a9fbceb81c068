// The last step of a sort that ranked only the leading bits of its keys: neighbours that tie in those bits are put in
// order in place. When keys are random and log2(n) + a few bits were ranked, few tie.
//
// repair_clear    state ← 0: state[0] counts the groups found, state[1] says that a group was too long to repair.
// repair_find     in: keys in the order of their bits ≥ tieBit, n. out: heads[0 … state[0]), the first position of
//                 each group of ties that holds an inversion, in any order; heads beyond capacity are only counted.
// repair_sort     in: heads. in and out: keys (values). Each work-item sorts groups by insertion: stable.
//
// A group longer than GROUP_MAX, or more groups than heads holds, is left as it is, and the host then runs all passes
// over what is there: that is a permutation in which equal keys still have their order, so the result is the same.
// Groups whose keys are equal or already in order have no inversion and cost nothing, however long they are.
// Finding and sorting are two kernels, so that nobody looks at a group while another sorts it.
//
// Launch: repair_find any number of groups of GROUP_SIZE, repair_sort any number of work-items. Keys are compared by
// (key << clear) >> clear >> fromBit. Requires 32-bit global and local atomics.
//
// prelude.cl stands before this file.

#ifndef GROUP_MAX
#define GROUP_MAX 24 // longest group of ties that is repaired in place
#endif

__kernel void repair_clear(__global uint *state)
{
	state[get_global_id(0)] = 0;
}

static inline bool tied(word_t a, word_t b, uint clear, uint tieBit)
{
	return ((a ^ b) << clear) >> clear >> tieBit == 0;
}

static inline bool inverted(word_t a, word_t b, uint clear, uint fromBit)
{
	return (a << clear) >> clear >> fromBit > (b << clear) >> clear >> fromBit;
}

// head_of is the first position of the group of i, or n when an earlier inversion of that group is somebody else's or
// the group is too long.
static inline ulong head_of(__global const word_t *keys, ulong i, ulong n, uint fromBit, uint tieBit, uint clear,
	__global uint *state)
{
	word_t here = keys[i];
	for (uint steps = 0; i > 0; i--, steps++) {
		word_t before = keys[i - 1];
		if (!tied(before, here, clear, tieBit))
			return i;
		if (inverted(before, here, clear, fromBit))
			return n;
		if (steps == GROUP_MAX) {
			atomic_xchg(&state[1], 1);
			return n;
		}
		here = before;
	}
	return i;
}

// A tile's inversions are first gathered in local memory and then looked at by neighbouring work-items, so that the few
// keys that need a walk to their head do not hold up the many that do not.
__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void repair_find(__global const word_t *keys, __global offset_t *heads, __global uint *state, ulong n, uint capacity,
	uint fromBit, uint tieBit, uint clear)
{
	__local ushort inversions[TILE];
	__local offset_t found[TILE];
	__local uint inversionCount, count, first;
	uint lid = get_local_id(0);
	for (ulong tile = get_group_id(0); tile * TILE < n; tile += get_num_groups(0)) {
		if (lid == 0)
			inversionCount = count = 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		word_t a[ITEMS], b[ITEMS];
#pragma unroll
		for (uint k = 0; k < ITEMS; k++) {
			ulong i = tile * TILE + k * GROUP_SIZE + lid;
			a[k] = i + 1 < n ? keys[i] : 0;
			b[k] = i + 1 < n ? keys[i + 1] : 0;
		}
#pragma unroll
		for (uint k = 0; k < ITEMS; k++)
			if (tied(a[k], b[k], clear, tieBit) && inverted(a[k], b[k], clear, fromBit))
				inversions[atomic_inc(&inversionCount)] = k * GROUP_SIZE + lid;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint j = lid; j < inversionCount; j += GROUP_SIZE) {
			ulong head = head_of(keys, tile * TILE + inversions[j], n, fromBit, tieBit, clear, state);
			if (head < n)
				found[atomic_inc(&count)] = head;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lid == 0 && count > 0)
			first = atomic_add(&state[0], count);
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint j = lid; j < count; j += GROUP_SIZE)
			if (first + j < capacity)
				heads[first + j] = found[j];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}

// group_end is where the group of ties that begins at head ends, or head when it is too long.
static inline ulong group_end(__global const word_t *keys, ulong head, ulong n, uint tieBit, uint clear)
{
	word_t key = keys[head];
	ulong limit = min(n, head + GROUP_MAX + 1);
	ulong end = head + 1;
	while (end < limit && tied(keys[end], key, clear, tieBit))
		end++;
	return end - head > GROUP_MAX ? head : end;
}

__kernel void repair_sort(__global word_t *keys, __global const offset_t *heads, __global uint *state, ulong n,
	uint capacity, uint fromBit, uint tieBit, uint clear, __global uint *values)
{
	uint count = min(state[0], capacity);
	for (uint g = get_global_id(0); g < count; g += get_global_size(0)) {
		ulong head = heads[g];
		ulong end = group_end(keys, head, n, tieBit, clear);
		if (end == head)
			atomic_xchg(&state[1], 1);
		for (ulong i = head + 1; i < end; i++) {
			word_t key = keys[i];
			ulong at = i;
#if HAS_VALUES
			uint value = values[i];
#endif
			for (; at > head && inverted(keys[at - 1], key, clear, fromBit); at--) {
				keys[at] = keys[at - 1];
#if HAS_VALUES
				values[at] = values[at - 1];
#endif
			}
			keys[at] = key;
#if HAS_VALUES
			values[at] = value;
#endif
		}
	}
}
