// reference.cl: one pass of a radix sort in its plainest form, to compare others with.
//
// Each work-item has a section of the input to itself and goes through it key by key: count, then (after one
// work-item has scanned all counts) reorder. Stable, because a section is read in order and sections of a digit
// follow each other.
//
//   counts   16 · ITEMS words, digit-major: counts[digit · ITEMS + item]
//   launch   count, reorder: ITEMS work-items; scan: 1

#ifndef WORD_BITS
#define WORD_BITS 32 // bits of a key word, 32 or 64
#endif
#ifndef ITEMS
#define ITEMS 1024 // work-items, one section each
#endif

#if WORD_BITS == 64
typedef ulong word_t;
#else
typedef uint word_t;
#endif

#define DIGIT(key) ((uint)((key) >> shift) & mask)

__kernel void count(__global const word_t *keys, ulong n, uint shift, uint mask, __global ulong *counts) {
  ulong item = get_global_id(0), from = n * item / ITEMS, to = n * (item + 1) / ITEMS;
  ulong mine[16];
  for (int d = 0; d < 16; d++) mine[d] = 0;
  for (ulong i = from; i < to; i++) mine[DIGIT(keys[i])]++;
  for (int d = 0; d < 16; d++) counts[d * ITEMS + item] = mine[d];
}

__kernel void scan(__global ulong *counts) {
  ulong sum = 0;
  for (int i = 0; i < 16 * ITEMS; i++) {
    ulong c = counts[i];
    counts[i] = sum;
    sum += c;
  }
}

__kernel void reorder(__global const word_t *keys, __global const uint *values, ulong n, uint shift, uint mask,
                      __global const ulong *counts, __global word_t *keysOut, __global uint *valuesOut, uint pairs) {
  ulong item = get_global_id(0), from = n * item / ITEMS, to = n * (item + 1) / ITEMS;
  ulong at[16];
  for (int d = 0; d < 16; d++) at[d] = counts[d * ITEMS + item];
  for (ulong i = from; i < to; i++) {
    word_t key = keys[i];
    ulong to = at[DIGIT(key)]++;
    keysOut[to] = key;
    if (pairs) valuesOut[to] = values[i];
  }
}
