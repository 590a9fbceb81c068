#include "textflag.h"

// Keeping the elements of a range. See within_amd64.go.
//
//	SI  next of the elements     DI  their end
//	R8  where the next is kept   Z0  the least element to keep
//	Z3  the greatest, less that  Z4  elements less the least
//
// What is kept of a vector is packed in a register and stored whole: to pack it on the way to memory takes some
// processors tens of cycles. What is too much is written over by the next.

#define WITHIN(BROADCAST, SUBTRACT, COMPARE, PACK, BYTES, LOGBYTES, SPAN, KEPT) \
	MOVQ       a+0(FP), SI           \
	MOVQ       SI, R8                \
	MOVQ       n+8(FP), DI           \
	LEAQ       (SI)(DI*BYTES), DI    \
	BROADCAST  low+16(FP), Z0        \
	BROADCAST  SPAN(FP), Z3          \
loop: \
	VMOVDQU64  (SI), Z1              \
	SUBTRACT   Z0, Z1, Z4            \
	COMPARE    $2, Z3, Z4, K1        \
	PACK       Z1, K1, Z2            \
	VMOVDQU64  Z2, (R8)              \
	KMOVW      K1, AX                \
	POPCNTL    AX, AX                \
	LEAQ       (R8)(AX*BYTES), R8    \
	ADDQ       $64, SI               \
	CMPQ       SI, DI                \
	JB         loop                  \
	VZEROUPPER                       \
	SUBQ       a+0(FP), R8           \
	SHRQ       LOGBYTES, R8          \
	MOVQ       R8, KEPT(FP)          \
	RET

// func within64(a *uint64, n int, low, span uint64) (kept int)
TEXT ·within64(SB), NOSPLIT, $0-40
	WITHIN(VPBROADCASTQ, VPSUBQ, VPCMPUQ, VPCOMPRESSQ.Z, 8, $3, span+24, kept+32)

// func within32(a *uint32, n int, low, span uint32) (kept int)
TEXT ·within32(SB), NOSPLIT, $0-32
	WITHIN(VPBROADCASTD, VPSUBD, VPCMPUD, VPCOMPRESSD.Z, 4, $2, span+20, kept+24)
