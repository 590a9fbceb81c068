#include "textflag.h"

// The buckets of eight elements at once, see number_amd64.go. Elements of 32 bits are taken for such of 64. Registers:
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

#define PLAIN \
	VPMAXUQ Z0, Z8, Z8 \
	VPSUBQ  Z0, Z8, Z8 \
	VPSRLQ  X1, Z8, Z8 \
	VPMINUQ Z2, Z8, Z8

// LOOKUP makes the distances Z8 buckets, by the cells Z9.
#define LOOKUP \
	KXNORW     K0, K0, K2           \
	VPXORQ     Z10, Z10, Z10        \
	VPGATHERQQ (R15)(Z9*8), K2, Z10 \
	VPANDQ     Z3, Z10, Z9          \
	VPSRLVQ    Z9, Z8, Z8           \
	VPSRLQ     $32, Z10, Z10        \
	VPADDQ     Z10, Z8, Z8

#define FITTED \
	VPMAXUQ Z0, Z8, Z8 \
	VPSUBQ  Z0, Z8, Z8 \
	VPMINUQ Z2, Z8, Z8 \
	VPSRLQ  X1, Z8, Z9 \
	LOOKUP

// GRADED: see buckets.of and grading.cellOf. Of a distance x below the center, center - 1 - x is the complement of
// x - center, and of a number n there, below - 1 - n is below more than the complement of n.
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

// func wideFitted32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·wideFitted32(SB), NOSPLIT, $0-32
	BEGIN(MOVL)
	LOOP(LOAD32, FITTED)

// func wideGraded32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·wideGraded32(SB), NOSPLIT, $0-32
	BEGIN(MOVL)
	GRADING
	LOOP(LOAD32, GRADED)

// func wide64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·wide64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	LOOP(LOAD64, PLAIN)

// func wideFitted64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·wideFitted64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	LOOP(LOAD64, FITTED)

// func wideGraded64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·wideGraded64(SB), NOSPLIT, $0-32
	BEGIN(MOVQ)
	GRADING
	LOOP(LOAD64, GRADED)

// The same with vectors of 256 bits, which have no unsigned order of 64 bits: there, elements are compared with
// their highest bits changed. Registers:
//
//	SI  next elements         DI  next numbers
//	CX  elements left         X1  shift
//	Y0  low                   Y2  last
//	Y3  highest bits          Y4, Y5  low and last with these changed
//	Y8, Y9  the elements, then how far they are above low

#define BEGIN_NARROW(BROADCAST) \
	MOVQ      numbers+0(FP), DI \
	MOVQ      elems+8(FP), SI   \
	MOVQ      n+16(FP), CX      \
	MOVQ      b+24(FP), AX      \
	BROADCAST 0(AX), Y0         \
	VMOVQ     8(AX), X1         \
	BROADCAST 16(AX), Y2

// PLAIN_NARROW makes four elements numbers. Y6 and Y7 are for its use.
#define PLAIN_NARROW(Y) \
	VPXOR     Y3, Y, Y6  \
	VPCMPGTQ  Y6, Y4, Y6 \
	VPSUBQ    Y0, Y, Y   \
	VPANDN    Y, Y6, Y   \
	VPSRLQ    X1, Y, Y   \
	VPXOR     Y3, Y, Y6  \
	VPCMPGTQ  Y5, Y6, Y7 \
	VBLENDVPD Y7, Y2, Y, Y

// func narrow32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·narrow32(SB), NOSPLIT, $0-32
	BEGIN_NARROW(VPBROADCASTD)
loop:
	VMOVDQU (SI), Y8
	VPMAXUD Y0, Y8, Y8
	VPSUBD  Y0, Y8, Y8
	VPSRLD  X1, Y8, Y8
	VPMINUD Y2, Y8, Y8
	VMOVDQU Y8, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNE     loop
	VZEROUPPER
	RET

// func narrow64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·narrow64(SB), NOSPLIT, $0-32
	BEGIN_NARROW(VPBROADCASTQ)
	VPCMPEQQ Y3, Y3, Y3
	VPSLLQ   $63, Y3, Y3
	VPXOR    Y3, Y0, Y4
	VPXOR    Y3, Y2, Y5
loop:
	VMOVDQU (SI), Y8
	VMOVDQU 32(SI), Y9
	PLAIN_NARROW(Y8)
	PLAIN_NARROW(Y9)
	VSHUFPS $0x88, Y9, Y8, Y8 // the low halves: 0 1 4 5 and 2 3 6 7
	VPERMQ  $0xD8, Y8, Y8
	VMOVDQU Y8, (DI)
	ADDQ    $64, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNE     loop
	VZEROUPPER
	RET

// The same for one element after the other, of processors without such vectors. Registers:
//
//	SI  end of the elements   DI  end of their numbers
//	CX  the element in work, counted from the end: less than 0
//	R8  low                   R9  last
//	R10 shift                 R11 cells
//	R13 bits                  R14 b
//	R15 0
//	AX  the element, then how far it is above low, then from the center
//	BX  its cell              DX  all ones if it is below the center

#define BEGIN_EACH(MOV, LOGBYTES) \
	MOVQ numbers+0(FP), DI \
	MOVQ n+16(FP), CX      \
	LEAQ (DI)(CX*4), DI    \
	MOVQ CX, SI            \
	SHLQ LOGBYTES, SI      \
	ADDQ elems+8(FP), SI   \
	NEGQ CX                \
	MOVQ b+24(FP), R14     \
	MOV  0(R14), R8        \
	MOVQ 8(R14), R10       \
	MOV  16(R14), R9       \
	MOVQ 24(R14), R11      \
	XORL R15, R15

// GRADING_EACH is the rest of BEGIN_EACH for cells that grow.
#define GRADING_EACH \
	MOVQ 48(R14), R13 \
	MOVQ $63, AX      \
	SUBQ R13, AX      \
	MOVQ AX, finest-8(SP)

#define ABOVE_EACH \
	SUBQ    R8, AX \
	CMOVQCS R15, AX

#define ATMOST_EACH \
	CMPQ    AX, R9 \
	CMOVQHI R9, AX

#define PLAIN_EACH \
	ABOVE_EACH        \
	SHRXQ R10, AX, AX \
	ATMOST_EACH

// LOOKUP_EACH makes the distance AX a bucket, by the cell BX.
#define LOOKUP_EACH \
	MOVQ  (R11)(BX*8), BX \
	SHRXQ BX, AX, AX      \
	SHRQ  $32, BX         \
	ADDL  BX, AX

#define FITTED_EACH \
	ABOVE_EACH        \
	ATMOST_EACH       \
	SHRXQ R10, AX, BX \
	LOOKUP_EACH

#define GRADED_EACH \
	ABOVE_EACH                \
	ATMOST_EACH               \
	SUBQ    56(R14), AX       \
	SBBQ    DX, DX            \
	XORQ    DX, AX            \
	SHRXQ   R10, AX, BX       \
	LZCNTQ  BX, R12           \
	SUBQ    finest-8(SP), R12 \
	CMOVQCC R15, R12          \
	NEGQ    R12               \
	SHRXQ   R12, BX, BX       \
	SHLXQ   R13, R12, R12     \
	ADDQ    R12, BX           \
	MOVQ    64(R14), R12      \
	ANDQ    DX, R12           \
	ADDQ    R12, BX           \
	LOOKUP_EACH               \
	XORL    DX, AX            \
	ADDL    72(R14), AX

#define LOOP_EACH(MOV, BYTES, KIND) \
loop: \
	MOV  (SI)(CX*BYTES), AX \
	KIND                    \
	MOVL AX, (DI)(CX*4)     \
	INCQ CX                 \
	JNE  loop               \
	RET

// func shift32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·shift32(SB), NOSPLIT, $0-32
	BEGIN_EACH(MOVL, $2)
	LOOP_EACH(MOVL, 4, PLAIN_EACH)

// func shiftFitted32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·shiftFitted32(SB), NOSPLIT, $0-32
	BEGIN_EACH(MOVL, $2)
	LOOP_EACH(MOVL, 4, FITTED_EACH)

// func shiftGraded32(numbers, elems *uint32, n int, b *buckets[uint32])
TEXT ·shiftGraded32(SB), NOSPLIT, $8-32
	BEGIN_EACH(MOVL, $2)
	GRADING_EACH
	LOOP_EACH(MOVL, 4, GRADED_EACH)

// func shift64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·shift64(SB), NOSPLIT, $0-32
	BEGIN_EACH(MOVQ, $3)
	LOOP_EACH(MOVQ, 8, PLAIN_EACH)

// func shiftFitted64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·shiftFitted64(SB), NOSPLIT, $0-32
	BEGIN_EACH(MOVQ, $3)
	LOOP_EACH(MOVQ, 8, FITTED_EACH)

// func shiftGraded64(numbers *uint32, elems *uint64, n int, b *buckets[uint64])
TEXT ·shiftGraded64(SB), NOSPLIT, $8-32
	BEGIN_EACH(MOVQ, $3)
	GRADING_EACH
	LOOP_EACH(MOVQ, 8, GRADED_EACH)
