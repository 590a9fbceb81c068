// A look at the keys before they are sorted, from which the host plans the sort.
//
// sample   in: keys, n. out: seen[0 … size), one key of each of size sections of the array, and seen[size … 2·size),
//          the key after each of them: these tell whether neighbours are alike. Launch: size work-items or more, 1 ≤
//          size ≤ n.
//
// in_order  in: keys, n, and the sort's bits from and to. out: state[0] ← 1 when a key is less than the one before it. Any
//           number of work-items. For keys whose sample is in order.
//
// reverse   in: keysIn, n, the sort's bits from and to, and strict. out: keysOut, the keys from the last to the first, and
//           their values; state[0] ← 1 when a key is less than the one after it, or with strict != 0 not greater. Then
//           the result is no sorted order: equal keys must keep their order, which only records that are nothing but
//           their key may lose. Any number of work-items. Each key is read and written once.
//
// Requires nothing beyond OpenCL 1.0. prelude.cl stands before this file.

// scatter_bits is a fixed hash, so that a sample does not beat in time with the data.
static inline uint scatter_bits(uint x)
{
	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

__kernel void sample(__global const word_t *keys, __global word_t *seen, ulong n, uint size)
{
	uint i = get_global_id(0);
	if (i < size) {
		ulong begin = first_of(i, n, size), end = first_of(i + 1, n, size);
		ulong at = begin + scatter_bits(i) % (end - begin);
		seen[i] = keys[at];
		seen[size + i] = keys[at + 1 < n ? at + 1 : 0];
	}
}

__kernel void in_order(__global const word_t *keys, __global uint *state, ulong n, uint fromBit, uint toBit)
{
	uint above = 8 * WORD_BYTES - toBit;
	ulong step = get_global_size(0);
	bool less = false;
#pragma unroll 4
	for (ulong i = get_global_id(0); i + 1 < n; i += step)
		less |= keys[i + 1] << above >> above >> fromBit < keys[i] << above >> above >> fromBit;
	if (less)
		state[0] = 1;
}

__kernel void reverse(__global const word_t *keysIn, __global word_t *keysOut, __global uint *state, ulong n,
	uint fromBit, uint toBit, uint strict VALUE_BUFFERS)
{
	uint above = 8 * WORD_BYTES - toBit;
	ulong step = get_global_size(0);
	bool wrong = false;
#pragma unroll 4
	for (ulong i = get_global_id(0); i < n; i += step) {
		word_t key = keysIn[i];
		word_t next = keysIn[min(i + 1, n - 1)];
		word_t bits = key << above >> above >> fromBit;
		word_t nextBits = next << above >> above >> fromBit;
		wrong |= bits < nextBits || (strict && bits == nextBits && i + 1 < n);
		keysOut[n - 1 - i] = key;
#if HAS_VALUES
		valuesOut[n - 1 - i] = valuesIn[i];
#endif
	}
	if (wrong)
		state[0] = 1;
}
