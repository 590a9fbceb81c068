// Parallel selection sort, after Eric Bainville, "OpenCL Sorting: Parallel Selection Sort", June 2011: each work-item
// counts the keys that come before its own, all n of them, and so knows its place. O(n²) reads, no second step: for
// tiny chunks.
//
// selection   in: keys (values), n. out: keysOut (valuesOut), sorted by (key >> shift) & mask; equal keys keep their
//             order, since of two of them the one with the lower index counts as smaller.
//
// Launch: at least n work-items in groups of any size. Requires nothing beyond OpenCL 1.0.
//
// prelude.cl stands before this file.

__kernel void selection(__global const word_t *keysIn, __global word_t *keysOut, ulong n, uint shift,
	ulong mask VALUE_BUFFERS)
{
	ulong i = get_global_id(0);
	if (i >= n)
		return;
	word_t whole = keysIn[i];
	word_t key = whole >> shift & (word_t)mask;
	offset_t to = 0;
	for (ulong j = 0; j < n; j++) {
		word_t other = keysIn[j] >> shift & (word_t)mask; // the same for all work-items: one read serves them all
		to += other < key || (other == key && j < i);
	}
	keysOut[to] = whole;
#if HAS_VALUES
	valuesOut[to] = valuesIn[i];
#endif
}
