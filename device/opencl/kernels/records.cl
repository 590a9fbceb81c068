// records.cl: records that stay where they are while keys and indexes are sorted.
//
// Records lie in up to 8 segments, because one buffer may be smaller than the chunk; segment s holds the records
// from s << SEGMENT_SHIFT on. The normalized key is described by a table with one entry for each of its bytes, most
// significant first: x: where the byte stands in the record; y: where the byte with the sign stands; z and w: what
// the byte is XORed with when the sign bit is set and when it is not. So one kernel does for every layout.
//
//   survey    which bits of the key differ: for each word 4 uint, OR low, OR high, AND low, AND high
//   extract   one word of the key of each record, in the order that the index says (or in input order, making it)
//   disorder  whether the index is in the order of the whole key
//   gather    a stretch of records, in the order that the index says, to one place
//   launch    survey, extract, disorder: any number of work-items; gather: any number not below n · units
//
// The sizes are arguments, so that no layout needs a build of its own.

#ifndef SEGMENTS
#define SEGMENTS 1 // 1, or 8 if there are several
#endif
#ifndef SEGMENT_SHIFT
#define SEGMENT_SHIFT 31 // log2 of the records in a segment
#endif

#define RECORDS \
  __global const uchar *s0, __global const uchar *s1, __global const uchar *s2, __global const uchar *s3, \
      __global const uchar *s4, __global const uchar *s5, __global const uchar *s6, __global const uchar *s7
#define SEGMENT_POINTERS s0, s1, s2, s3, s4, s5, s6, s7

__global const uchar *record_at(ulong i, uint size, RECORDS) {
#if SEGMENTS == 1
  return s0 + i * size;
#else
  __global const uchar *segment = s0;
  switch (i >> SEGMENT_SHIFT) {
    case 1: segment = s1; break;
    case 2: segment = s2; break;
    case 3: segment = s3; break;
    case 4: segment = s4; break;
    case 5: segment = s5; break;
    case 6: segment = s6; break;
    case 7: segment = s7; break;
  }
  return segment + (i & (((ulong)1 << SEGMENT_SHIFT) - 1)) * size;
#endif
}

// key_word is bytes from (counted from the most significant) to to-1 of the normalized key.
ulong key_word(__global const uchar *record, __global const uint4 *table, uint from, uint to) {
  ulong word = 0;
  for (uint j = from; j < to; j++) {
    uint4 t = table[j];
    uint flip = (record[t.y] & 0x80) ? t.z : t.w;
    word = word << 8 | (ulong)((record[t.x] ^ flip) & 0xFF);
  }
  return word;
}

__kernel void survey(RECORDS, uint size, __global const uint4 *table, uint key_bytes, ulong n, __global uint *bits) {
  __local uint group[4];
  for (uint from = 0, w = 0; from < key_bytes; from += 8, w++) {
    if (get_local_id(0) < 4) group[get_local_id(0)] = get_local_id(0) < 2 ? 0 : ~0u;
    barrier(CLK_LOCAL_MEM_FENCE);
    ulong any = 0, all = ~0ul;
    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) {
      ulong word = key_word(record_at(i, size, SEGMENT_POINTERS), table, from, min(from + 8u, key_bytes));
      any |= word;
      all &= word;
    }
    atomic_or(&group[0], (uint)any);
    atomic_or(&group[1], (uint)(any >> 32));
    atomic_and(&group[2], (uint)all);
    atomic_and(&group[3], (uint)(all >> 32));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
      atomic_or(&bits[4 * w], group[0]);
      atomic_or(&bits[4 * w + 1], group[1]);
      atomic_and(&bits[4 * w + 2], group[2]);
      atomic_and(&bits[4 * w + 3], group[3]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void number(__global uint *index, ulong n) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) index[i] = (uint)i;
}

__kernel void extract32(RECORDS, uint size, __global const uint4 *table, __global const uint *index, ulong n,
                        uint from, uint to, __global uint *words) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    words[i] = (uint)key_word(record_at(index[i], size, SEGMENT_POINTERS), table, from, to);
}

__kernel void extract64(RECORDS, uint size, __global const uint4 *table, __global const uint *index, ulong n,
                        uint from, uint to, __global ulong *words) {
  for (ulong i = get_global_id(0); i < n; i += get_global_size(0))
    words[i] = key_word(record_at(index[i], size, SEGMENT_POINTERS), table, from, to);
}

// disorder sets found[0] if a record stands before one whose key is less. Neighbours differ early as a rule.
__kernel void disorder(RECORDS, uint size, __global const uint4 *table, uint key_bytes, __global const uint *index,
                       ulong n, __global uint *found) {
  for (ulong i = get_global_id(0) + 1; i < n; i += get_global_size(0)) {
    __global const uchar *a = record_at(index[i - 1], size, SEGMENT_POINTERS);
    __global const uchar *b = record_at(index[i], size, SEGMENT_POINTERS);
    for (uint j = 0; j < key_bytes; j++) {
      ulong x = key_word(a, table, j, j + 1), y = key_word(b, table, j, j + 1);
      if (x > y) atomic_or(&found[0], 1u);
      if (x != y) break;
    }
  }
}

// gather lets neighbours move neighbouring units, so that what is read of a record and all that is written coalesces.
// It comes for units of 1, 2, 4, 8 and 16 bytes, of which a record has so many. n · units is less than 2^32.
#define GATHER(name, unit_t) \
  __kernel void name(RECORDS, uint units, __global const uint *index, ulong first, uint n, __global unit_t *out) { \
    uint g = get_global_id(0); \
    if (g >= n * units) return; \
    uint i = g / units; \
    ulong from = index[first + i]; \
    __global const uchar *record = record_at(from, units * (uint)sizeof(unit_t), SEGMENT_POINTERS); \
    out[g] = ((__global const unit_t *)record)[g - i * units]; \
  }

GATHER(gather1, uchar)
GATHER(gather2, ushort)
GATHER(gather4, uint)
GATHER(gather8, ulong)
GATHER(gather16, uint4)
