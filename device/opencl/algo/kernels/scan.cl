// The exclusive scan of a table of counts, in place.
//
// scan_single     one work-group scans all, as Harada & Howes do (section 3.2, figure 3): each work-item sums its lane
//                 of SCAN_LANE neighbours, the sums are scanned over the group, and the result is propagated into the
//                 lanes; what is left over from one window of the table is carried into the next.
// scan_sums       for tables too long for one group: group g writes the sum of its section of the table to sums[g],
// scan_sections   and after scan_single has scanned sums, each group scans its section starting from sums[g].
// scan_rows       one group per row: row r of the table (length entries) is scanned starting from bases[first + r].
//
// in and out: table[length] of offset_t. Launch: GROUP_SIZE work-items a group. Requires nothing beyond OpenCL 1.2.

#ifndef SCAN_LANE
#define SCAN_LANE 8 // neighbours that a work-item sums by itself
#endif

#define SCAN_WINDOW (GROUP_SIZE * SCAN_LANE)

// scan_range scans table[begin, end) from carry on. A window goes through local memory, so that global memory is read
// and written in order while each work-item has neighbours; a column of padding per lane avoids bank conflicts.
static inline void scan_range(__global offset_t *table, ulong begin, ulong end, offset_t carry,
	__local offset_t *window, __local offset_t *tmp)
{
	uint lid = get_local_id(0);
	__local offset_t *lane = window + lid * (SCAN_LANE + 1);
	for (ulong at = begin; at < end; at += SCAN_WINDOW) {
		for (uint i = lid; i < SCAN_WINDOW; i += GROUP_SIZE)
			window[i / SCAN_LANE * (SCAN_LANE + 1) + i % SCAN_LANE] = at + i < end ? table[at + i] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);

		offset_t sum = 0;
		for (uint i = 0; i < SCAN_LANE; i++)
			sum += lane[i];
		offset_t last = scan_inclusive_offset(sum, tmp, lid, GROUP_SIZE);
		offset_t before = carry + last - sum;
		for (uint i = 0; i < SCAN_LANE; i++) {
			offset_t x = lane[i];
			lane[i] = before;
			before += x;
		}
		if (lid == GROUP_SIZE - 1)
			tmp[0] = before;
		barrier(CLK_LOCAL_MEM_FENCE);

		for (uint i = lid; i < SCAN_WINDOW && at + i < end; i += GROUP_SIZE)
			table[at + i] = window[i / SCAN_LANE * (SCAN_LANE + 1) + i % SCAN_LANE];
		carry = tmp[0];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void scan_single(__global offset_t *table, ulong length)
{
	__local offset_t window[GROUP_SIZE * (SCAN_LANE + 1)], tmp[2 * GROUP_SIZE];
	scan_range(table, 0, length, 0, window, tmp);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void scan_sums(__global const offset_t *table, __global offset_t *sums, ulong length)
{
	__local offset_t tmp[2 * GROUP_SIZE];
	uint lid = get_local_id(0);
	ulong end = first_of(get_group_id(0) + 1, length, get_num_groups(0));
	offset_t sum = 0;
	for (ulong i = first_of(get_group_id(0), length, get_num_groups(0)) + lid; i < end; i += GROUP_SIZE)
		sum += table[i];
	sum = scan_inclusive_offset(sum, tmp, lid, GROUP_SIZE);
	if (lid == GROUP_SIZE - 1)
		sums[get_group_id(0)] = sum;
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void scan_sections(__global offset_t *table, __global const offset_t *sums, ulong length)
{
	__local offset_t window[GROUP_SIZE * (SCAN_LANE + 1)], tmp[2 * GROUP_SIZE];
	ulong begin = first_of(get_group_id(0), length, get_num_groups(0));
	ulong end = first_of(get_group_id(0) + 1, length, get_num_groups(0));
	scan_range(table, begin, end, sums[get_group_id(0)], window, tmp);
}

__kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1)))
void scan_rows(__global offset_t *table, __global const offset_t *bases, ulong first, ulong length)
{
	__local offset_t window[GROUP_SIZE * (SCAN_LANE + 1)], tmp[2 * GROUP_SIZE];
	ulong row = get_group_id(0);
	scan_range(table, row * length, (row + 1) * length, bases[first + row], window, tmp);
}
