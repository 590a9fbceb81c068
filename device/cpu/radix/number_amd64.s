#include "textflag.h"

// The buckets of eight elements at once, see number_amd64.go. Elements of 32 bits are taken for such of 64.
// Registers:
//
//	SI  next elements         DI  next numbers
//	CX  elements left         R15 cells
//	Z0  low                   X1  shift
//	Z2  last                  Z3  63
//	Z4  all ones
//	Z8  the elements, then how far they are above low, then from the center
//	Z9  their cells           Z10 what is in these
//
// and for cells that grow
//
//	Z11 center                Z12 bits
//	X13 bits                  Z14 lower
//	Z15 below                 Z16 1
//	Z17 0                     K1  elements below the center

#define BEGIN(MOV) \
	MOVQ         numbers+0(FP), DI \
	MOVQ         elems+8(FP), SI   \
	MOVQ         n+16(FP), CX      \
	MOVQ         b+24(FP), AX      \
	MOV          0(AX), BX         \
	VPBROADCASTQ BX, Z0            \
	VMOVQ        8(AX), X1         \
	MOV          16(AX), BX        \
	VPBROADCASTQ BX, Z2            \
	MOVQ         24(AX), R15       \
	MOVQ         $63, BX           \
	VPBROADCASTQ BX, Z3            \
	VPTERNLOGQ   $0xFF, Z4, Z4, Z4

// GRADING is the rest of BEGIN for cells that grow.
#define GRADING \
	VPBROADCASTQ 48(AX), Z12 \
	VMOVQ        48(AX), X13 \
	VPBROADCASTQ 56(AX), Z11 \
	VPBROADCASTQ 64(AX), Z14 \
	VPBROADCASTQ 72(AX), Z15 \
	MOVQ         $1, BX      \
	VPBROADCASTQ BX, Z16     \
	VPXORQ       Z17, Z17, Z17

#define LOAD32 \
	VPMOVZXDQ (SI), Z8 \
	ADDQ      $32, SI

#define LOAD64 \
	VMOVDQU64 (SI), Z8 \
	ADDQ      $64, SI

// LOOKUP makes the distances Z8 buckets, by the cells Z9.
#define LOOKUP \
	KXNORW     K0, K0, K2           \
	VPXORQ     Z10, Z10, Z10        \
	VPGATHERQQ (R15)(Z9*8), K2, Z10 \
	VPANDQ     Z3, Z10, Z9          \
	VPSRLVQ    Z9, Z8, Z8           \
	VPSRLQ     $32, Z10, Z10        \
	VPADDQ     Z10, Z8, Z8

#define PLAIN \
	VPMAXUQ Z0, Z8, Z8 \
	VPSUBQ  Z0, Z8, Z8 \
	VPSRLQ  X1, Z8, Z8 \
	VPMINUQ Z2, Z8, Z8

#define FITTED \
	VPMAXUQ Z0, Z8, Z8 \
	VPSUBQ  Z0, Z8, Z8 \
	VPMINUQ Z2, Z8, Z8 \
	VPSRLQ  X1, Z8, Z9 \
	LOOKUP

// GRADED: see Buckets.BucketOf and grading.cellOf. Below the center, the distance center - 1 - x is the complement of
// x - center. The bucket below - 1 - n there is the complement of n, plus below.
#define GRADED \
	VPMAXUQ  Z0, Z8, Z8      \
	VPSUBQ   Z0, Z8, Z8      \
	VPMINUQ  Z2, Z8, Z8      \
	VPCMPUQ  $1, Z11, Z8, K1 \
	VPSUBQ   Z11, Z8, Z8     \
	VPXORQ   Z4, Z8, K1, Z8  \
	VPSRLQ   X1, Z8, Z9      \
	VPORQ    Z16, Z9, Z18    \
	VPLZCNTQ Z18, Z18        \
	VPSUBQ   Z18, Z3, Z18    \
	VPSUBQ   Z12, Z18, Z18   \
	VPMAXSQ  Z17, Z18, Z18   \
	VPSRLVQ  Z18, Z9, Z9     \
	VPSLLQ   X13, Z18, Z18   \
	VPADDQ   Z18, Z9, Z9     \
	VPADDQ   Z14, Z9, K1, Z9 \
	LOOKUP                   \
	VPXORQ   Z4, Z8, K1, Z8  \
	VPADDQ   Z15, Z8, Z8

#define LOOP(LOAD, KIND) \
loop: \
	LOAD             \
	KIND             \
	VPMOVQD Z8, (DI) \
	ADDQ    $32, DI  \
	SUBQ    $8, CX   \
	JNE     loop     \
	VZEROUPPER       \
	RET

// func numberPlain32(numbers, elems *uint32, n int, b *Buckets[uint32])
TEXT ·numberPlain32(SB), NOSPLIT, $0-32
	BEGIN(MOVL)
	LOOP(LOAD32, PLAIN)

// func numberPlain64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])
TEXT ·numberPlain64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	LOOP(LOAD64, PLAIN)

// func numberEven32(numbers, elems *uint32, n int, b *Buckets[uint32])
TEXT ·numberEven32(SB), NOSPLIT, $0-32
	BEGIN(MOVL)
	LOOP(LOAD32, FITTED)

// func numberGraded32(numbers, elems *uint32, n int, b *Buckets[uint32])
TEXT ·numberGraded32(SB), NOSPLIT, $0-32
	BEGIN(MOVL)
	GRADING
	LOOP(LOAD32, GRADED)

// func numberEven64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])
TEXT ·numberEven64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	LOOP(LOAD64, FITTED)

// func numberGraded64(numbers *uint32, elems *uint64, n int, b *Buckets[uint64])
TEXT ·numberGraded64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	GRADING
	LOOP(LOAD64, GRADED)
