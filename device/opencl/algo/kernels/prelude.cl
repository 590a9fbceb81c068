// What every kernel file begins with: the types of a program variant and the scan within a work-group.
// The driver puts this file before the file of an algorithm; it has no kernels of its own.
//
// A program is built once for each variant that is used: WORD_BYTES, HAS_VALUES and WIDE say which.
// Keys are unsigned words in the order wanted; a digit is DIGIT_BITS (at most) of their bits.

#ifndef WORD_BYTES
#define WORD_BYTES 4 // bytes of a key: 4 or 8
#endif
#ifndef HAS_VALUES
#define HAS_VALUES 0 // 1: each key has a 32-bit value that moves with it
#endif
#ifndef WIDE
#define WIDE 0 // 1: positions need more than 32 bits
#endif
#ifndef GROUP_SIZE
#define GROUP_SIZE 256 // work-items of a work-group
#endif
#ifndef ITEMS
#define ITEMS 4 // keys of a work-item
#endif
#ifndef DIGIT_BITS
#define DIGIT_BITS 8 // bits that one pass sorts by
#endif
#ifndef CLAMPED
#define CLAMPED 0 // 1: a digit has no bits above it that count, see digit_of
#endif

#define TILE (GROUP_SIZE * ITEMS)
#define RADIX (1 << DIGIT_BITS)
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#if WORD_BYTES == 8
typedef ulong word_t;
#define WORD_MAX ULONG_MAX
#else
typedef uint word_t;
#define WORD_MAX UINT_MAX
#endif

#if WIDE
typedef ulong offset_t; // a position in the whole array, or a count of keys
#else
typedef uint offset_t;
#endif

#if HAS_VALUES
#define VALUE_BUFFERS , __global const uint *valuesIn, __global uint *valuesOut
#else
#define VALUE_BUFFERS
#endif

#if CLAMPED
// With CLAMPED a digit is all of the bits from shift on, cut off at its ends: it is 0 for the value least and below,
// and the largest for all from least + RADIX - 1 on. mask stands for least.
typedef word_t mask_t;
static inline uint digit_of(word_t key, uint shift, word_t least)
{
	return (uint)min(max(key >> shift, least) - least, (word_t)(RADIX - 1));
}
#else
typedef uint mask_t;
static inline uint digit_of(word_t key, uint shift, uint mask)
{
	return (uint)(key >> shift) & mask;
}
#endif

// first_of is where part i begins when n units are dealt to parts as evenly as can be.
static inline ulong first_of(ulong i, ulong n, ulong parts)
{
	return i * (n / parts) + min(i, n % parts);
}

// The inclusive scan of x over the first SIZE work-items of the group, by Hillis and Steele with steps of four, so
// that 256 values take 4 barriers. All work-items must come here. tmp has room for 2·size values and may be used
// again after the next barrier.
#define DEFINE_SCAN_INCLUSIVE(NAME, T) \
	static inline T NAME(T x, __local T *tmp, uint i, uint size) \
	{ \
		__local T *from = tmp; \
		__local T *to = tmp + size; \
		if (i < size) \
			from[i] = x; \
		barrier(CLK_LOCAL_MEM_FENCE); \
		for (uint step = 1; step < size; step *= 4) { \
			if (i < size) { \
				if (i >= step) \
					x += from[i - step]; \
				if (i >= 2 * step) \
					x += from[i - 2 * step]; \
				if (i >= 3 * step) \
					x += from[i - 3 * step]; \
				to[i] = x; \
			} \
			__local T *swap = from; \
			from = to; \
			to = swap; \
			barrier(CLK_LOCAL_MEM_FENCE); \
		} \
		return x; \
	}

DEFINE_SCAN_INCLUSIVE(scan_inclusive, uint)
DEFINE_SCAN_INCLUSIVE(scan_inclusive_offset, offset_t)
