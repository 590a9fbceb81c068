#include "textflag.h"

// Leaving out the elements that are equal to one. See without_amd64.go.
//
//	SI  next of the elements     DI  their end
//	R8  where the next is kept   Z0  the element to leave out
//
// What is kept of a vector is packed in a register and stored whole: to pack it on the way to memory takes some processors
// tens of cycles. What is too much is written over by the next.

#define WITHOUT(BROADCAST, COMPARE, PACK, BYTES, LOGBYTES) \
	MOVQ       dst+0(FP), R8   \
	MOVQ       a+8(FP), SI \
	MOVQ       n+16(FP), DI    \
	LEAQ       (SI)(DI*BYTES), DI \
	BROADCAST  value+24(FP), Z0 \
loop: \
	VMOVDQU64  (SI), Z1        \
	COMPARE    $4, Z0, Z1, K1  \
	PACK       Z1, K1, Z2      \
	VMOVDQU64  Z2, (R8)        \
	KMOVW      K1, AX          \
	POPCNTL    AX, AX          \
	LEAQ       (R8)(AX*BYTES), R8 \
	ADDQ       $64, SI         \
	CMPQ       SI, DI          \
	JB         loop            \
	VZEROUPPER                 \
	SUBQ       dst+0(FP), R8   \
	SHRQ       LOGBYTES, R8    \
	MOVQ       R8, kept+32(FP) \
	RET

// func without64(dst, a *uint64, n int, value uint64) (kept int)
TEXT ·without64(SB), NOSPLIT, $0-40
	WITHOUT(VPBROADCASTQ, VPCMPUQ, VPCOMPRESSQ.Z, 8, $3)

// func without32(dst, a *uint32, n int, value uint32) (kept int)
TEXT ·without32(SB), NOSPLIT, $0-40
	WITHOUT(VPBROADCASTD, VPCMPUD, VPCOMPRESSD.Z, 4, $2)
