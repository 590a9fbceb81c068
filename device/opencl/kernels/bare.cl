// bare.cl: bare keys to normalized words and back.
//
// A record is a key of SIZE bytes and nothing else. encode makes of each a native word whose unsigned order is
// the wanted order; decode is its inverse. Both XOR a word with one mask if its sign bit is set and with another if
// not, which does for all types and directions; keys whose first byte is the most significant are swapped too.
//
//   inputs   n records of SIZE bytes, or n words of WORD_BITS bits, of which the low 8·SIZE are used
//   launch   any number of work-items: each takes every global-size-th element

#ifndef SIZE
#define SIZE 4 // bytes of a record, 1 to 8
#endif
#ifndef WORD_BITS
#define WORD_BITS 32 // bits of a word, 32 or 64
#endif

#if WORD_BITS == 64
typedef ulong word_t;
#else
typedef uint word_t;
#endif

#define KEY_BITS (8 * SIZE)
#define SIGN ((word_t)1 << (KEY_BITS - 1))

// Keys of 1, 2, 4 and 8 bytes are loaded and stored whole, others by bytes.
#if SIZE == 1
typedef uchar raw_t;
#elif SIZE == 2
typedef ushort raw_t;
#elif SIZE == 4
typedef uint raw_t;
#elif SIZE == 8
typedef ulong raw_t;
#endif

word_t swap_bytes(word_t x) {
  word_t y = 0;
  for (int i = 0; i < SIZE; i++) y = (y << 8) | ((x >> (8 * i)) & 0xFF);
  return y;
}

word_t load(__global const uchar *records, ulong i) {
#if SIZE == 1 || SIZE == 2 || SIZE == 4 || SIZE == 8
  return ((__global const raw_t *)records)[i];
#else
  word_t x = 0;
  for (int b = 0; b < SIZE; b++) x |= (word_t)records[i * SIZE + b] << (8 * b);
  return x;
#endif
}

void store(__global uchar *records, ulong i, word_t x) {
#if SIZE == 1 || SIZE == 2 || SIZE == 4 || SIZE == 8
  ((__global raw_t *)records)[i] = (raw_t)x;
#else
  for (int b = 0; b < SIZE; b++) records[i * SIZE + b] = (uchar)(x >> (8 * b));
#endif
}

__kernel void encode(__global const uchar *records, __global word_t *words, ulong n, uint swap, ulong negative,
                     ulong positive) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
    word_t x = load(records, i);
    if (swap) x = swap_bytes(x);
    words[i] = x ^ (word_t)((x & SIGN) ? negative : positive);
  }
}

// The sign bit was XORed with the same bit of either mask, so that of negative brings it back.
__kernel void decode(__global const word_t *words, __global uchar *records, ulong n, uint swap, ulong negative,
                     ulong positive) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
    word_t x = words[i];
    x ^= (word_t)(((x ^ (word_t)negative) & SIGN) ? negative : positive);
    if (swap) x = swap_bytes(x);
    store(records, i, x);
  }
}

// survey tells which bits differ: bits[0..1] becomes the OR of all words, low half first, and bits[2..3] their AND.
//   before   bits = {0, 0, ~0, ~0}
__kernel void survey(__global const word_t *words, ulong n, __global uint *bits) {
  __local uint group[4];
  if (get_local_id(0) < 4) group[get_local_id(0)] = get_local_id(0) < 2 ? 0 : ~0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  ulong any = 0, all = ~0ul;
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
    any |= words[i];
    all &= words[i];
  }
  atomic_or(&group[0], (uint)any);
  atomic_or(&group[1], (uint)(any >> 32));
  atomic_and(&group[2], (uint)all);
  atomic_and(&group[3], (uint)(all >> 32));
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_local_id(0) == 0) {
    atomic_or(&bits[0], group[0]);
    atomic_or(&bits[1], group[1]);
    atomic_and(&bits[2], group[2]);
    atomic_and(&bits[3], group[3]);
  }
}
