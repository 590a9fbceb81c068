// Whether the inline PTX or the ballots of sub-groups of rank.cl do on this device what they must: built and run once
// before they are used.
//
// probe   out: ok[get_global_id(0)], 1 where the ranks of a work-item's keys, ranked as rank.cl does, are those that
//         counting gives. Launch: some groups of GROUP_SIZE work-items.
//
// prelude.cl and rank.cl stand before this file.

static inline uint probe_key(uint team, uint step, uint lane)
{
	uint x = (get_group_id(0) * 977 + team * 331 + step * 31 + lane) * 2654435761u;
	return x >> (24 + step % 6); // few values at some steps, many at others
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void probe(__global uint *ok)
{
	__local uint counters[RANK_WORDS];
	uint team = get_local_id(0) / TEAM, lane = get_local_id(0) % TEAM;
	clear_counters(counters);
	barrier(CLK_LOCAL_MEM_FENCE);
	word_t keys[ITEMS];
#pragma unroll
	for (uint i = 0; i < ITEMS; i++)
		keys[i] = probe_key(team, i, lane);
	uint ranks[ITEMS];
	rank_tile(keys, ranks, counters, 0, RADIX - 1);
	barrier(CLK_LOCAL_MEM_FENCE);

	uint good = 1;
	for (uint i = 0; i < ITEMS; i++) {
		uint rank = 0;
		for (uint earlier = 0; earlier < i * TEAM + lane; earlier++)
			rank += probe_key(team, earlier / TEAM, earlier % TEAM) == keys[i];
		good &= rank == ranks[i];
	}
	ok[get_global_id(0)] = good;
}
