// Radix sort by binning, after Intel's C for Metal tutorial 13, "Kernel Deep-Dive: RadixSort": chunks of 256 keys, each
// taken by 32 lanes, 32 keys in one step; 4 bins (2 bits) or 16 bins (4 bits) per pass.
//
// binning_count   in: keys, n. out: table[bin·chunks + chunk]. A lane has counters of its own, increased by comparison
//                 with each bin rather than by index; the 32 lanes' counters are then summed as a tree, four counters
//                 of 16 bits in one word of 64 at a time.
// (scan.cl then scans the table. The tutorial keeps a table of inclusive sums per bin and adds the global counts of the
// lower bins; in column-major order one exclusive scan gives the same starting addresses.)
// binning_move    in: keys (values), n, the scanned table. out: keysOut (valuesOut). For each 32 keys, the prefix sums
//                 over the lanes of all bins, packed like the counters, give each key its place in its bin.
//
// Keys are normalized, so that signed ones need no pass of their own.
//
// Launch: groups of GROUP_SIZE, a multiple of 32; GROUP_SIZE / 32 chunks a group. Requires at most 1 KiB of local
// memory per chunk.
//
// prelude.cl stands before this file, with DIGIT_BITS 2 or 4.

#define LANES 32
#define CHUNK 256
#define CHUNKS_IN_GROUP (GROUP_SIZE / LANES)
#define CHUNKS(n) (((n) + CHUNK - 1) / CHUNK)
#define BINS RADIX
#define PACKS (BINS / 4) // words of four counters

DEFINE_SCAN_INCLUSIVE(scan_packed, ulong)

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void binning_count(__global const word_t *keys, __global offset_t *table, ulong n, uint shift, uint mask)
{
	__local ulong packs[CHUNKS_IN_GROUP][PACKS][LANES];
	uint lane = get_local_id(0) % LANES, team = get_local_id(0) / LANES;
	ulong chunk = (ulong)get_group_id(0) * CHUNKS_IN_GROUP + team;
	ushort counters[BINS];
	for (uint b = 0; b < BINS; b++)
		counters[b] = 0;
	for (ulong i = chunk * CHUNK + lane; i < min((chunk + 1) * CHUNK, n); i += LANES) {
		uint bin = digit_of(keys[i], shift, mask);
#pragma unroll
		for (uint b = 0; b < BINS; b++)
			counters[b] += bin == b;
	}
#pragma unroll
	for (uint p = 0; p < PACKS; p++)
		packs[team][p][lane] = (ulong)counters[4 * p] | (ulong)counters[4 * p + 1] << 16 |
			(ulong)counters[4 * p + 2] << 32 | (ulong)counters[4 * p + 3] << 48;
	for (uint half_ = LANES / 2; half_ > 0; half_ /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		for (uint p = 0; p < PACKS && lane < half_; p++)
			packs[team][p][lane] += packs[team][p][lane + half_];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (lane < BINS && chunk < CHUNKS(n))
		table[lane * CHUNKS(n) + chunk] = packs[team][lane / 4][0] >> lane % 4 * 16 & 0xffff;
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void binning_move(__global const word_t *keysIn, __global word_t *keysOut, __global const offset_t *table, ulong n,
	uint shift, uint mask VALUE_BUFFERS)
{
	__local ulong tmp[CHUNKS_IN_GROUP][2 * LANES];
	__local offset_t next[CHUNKS_IN_GROUP][BINS]; // where the next key of each bin goes
	uint lane = get_local_id(0) % LANES, team = get_local_id(0) / LANES;
	ulong chunk = (ulong)get_group_id(0) * CHUNKS_IN_GROUP + team;
	if (lane < BINS)
		next[team][lane] = chunk < CHUNKS(n) ? table[lane * CHUNKS(n) + chunk] : 0;
	for (uint step = 0; step < CHUNK / LANES; step++) {
		ulong i = chunk * CHUNK + step * LANES + lane;
		bool here = i < n;
		word_t key = here ? keysIn[i] : 0;
		uint bin = digit_of(key, shift, mask);
		uint place = 0, binTotal = 0; // of this lane's key in its bin; of bin number lane
#pragma unroll
		for (uint p = 0; p < PACKS; p++) {
			ulong one = here && bin / 4 == p ? 1ul << bin % 4 * 16 : 0;
			ulong sums = scan_packed(one, tmp[team], lane, LANES);
			if (bin / 4 == p)
				place = (sums >> bin % 4 * 16 & 0xffff) - 1;
			if (lane == LANES - 1)
				tmp[team][0] = sums;
			barrier(CLK_LOCAL_MEM_FENCE);
			if (lane / 4 == p)
				binTotal = tmp[team][0] >> lane % 4 * 16 & 0xffff;
			barrier(CLK_LOCAL_MEM_FENCE);
		}
		if (here) {
			ulong to = next[team][bin] + place;
			keysOut[to] = key;
#if HAS_VALUES
			valuesOut[to] = valuesIn[i];
#endif
		}
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lane < BINS)
			next[team][lane] += binTotal;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}
