#include "textflag.h"
#include "scatter_amd64.h"

// The inner loops of scatterer.add, for 64- and 32-bit elements and for plain and fitted buckets, with even cells and with
// graded ones. See scatter_amd64.go, and scatter_amd64.h for the registers.
//
// Only the instructions that every amd64 has are used, but for sifting.

#define BEGIN(MOV, LOGBYTES) \
	MOVQ elems_base+0(FP), SI \
	MOVQ elems_len+8(FP), DI  \
	SHLQ LOGBYTES, DI         \
	ADDQ SI, DI               \
	MOVQ b+24(FP), AX         \
	MOV  0(AX), R10           \
	MOVQ 8(AX), R13           \
	MOV  16(AX), R11          \
	MOVQ 24(AX), R15          \
	MOVQ lines+32(FP), R8     \
	MOVQ at+40(FP), R9        \
	MOVQ pool+48(FP), R12     \
	CMPQ SI, DI               \
	JAE  end

// APPEND puts the element AX into the line of bucket BX, and goes on while that is not full.
#define APPEND(MOV, BYTES, LASTINLINE) \
	MOVQ (R9)(BX*8), DX      \
	MOVQ DX, R14             \
	ANDL LASTINLINE, R14     \
	INCQ DX                  \
	MOVQ DX, (R9)(BX*8)      \
	SHLQ $7, BX              \
	ADDQ R8, BX              \
	MOV  AX, (BX)(R14*BYTES) \
	CMPL R14, LASTINLINE     \
	JEQ  flush               \
	CMPQ SI, DI              \
	JB   loop

// SIFT moves those of 64 bytes of the line BX that are not the heavy element, of which Z16 has as many as fit, to DX, and DX
// to where they end.
#define SIFT(at, COMPARE, PACK, BYTES) \
	VMOVDQU64 at(BX), Z17        \
	COMPARE   $4, Z16, Z17, K1   \
	PACK      Z17, K1, Z18       \
	VMOVDQU64 Z18, (DX)          \
	KMOVW     K1, R14            \
	POPCNTL   R14, R14           \
	LEAQ      (DX)(R14*BYTES), DX

// FINISH is what follows the loop: the end of the elements; a full line, which is written to its block; a full line
// whose block is full as well; and one whose bucket sifts: then its place DX is negative.
//
// A line that is sifted is empty after it. If that makes a line of what is kept, or the processor cannot sift, the bucket
// counts as full. The offsets of a sieve are less than its size, as slots begin with 1: value -320, count -312, kept -304,
// rest -256. Registers from 16 on do not slow down the instructions of STREAM, which know of no wider ones.
#define FINISH(LOGBYTES, BYTES, LINE, BROADCAST, COMPARE, PACK) \
end: \
	SUBQ elems_base+0(FP), SI \
	SHRQ LOGBYTES, SI         \
	MOVQ SI, done+80(FP)      \
	MOVQ $-1, full+88(FP)     \
	RET                       \
flush: \
	SUBQ  LINE, DX             \
	JS    sift                 \
	MOVQ  blockMask+56(FP), R14 \
	TESTQ R14, DX              \
	JEQ   full                 \
	LEAQ  (R12)(DX*BYTES), DX  \
	STREAM(0)                  \
	STREAM(64)                 \
	CMPQ  SI, DI               \
	JB    loop                 \
	JMP   end                  \
sift: \
	MOVQ  sieves+64(FP), R14   \
	TESTQ R14, R14             \
	JEQ   full                 \
	MOVQ  BX, AX               \
	SUBQ  R8, AX               \
	SHRQ  $7, AX               \
	MOVQ  DX, (R9)(AX*8)       \
	MOVQ  slots+72(FP), DX     \
	MOVWLZX (DX)(AX*2), AX     \
	IMULQ $320, AX             \
	ADDQ  R14, AX              \
	BROADCAST -320(AX), Z16    \
	MOVQ  -304(AX), R14        \
	LEAQ  -256(AX)(R14*BYTES), DX \
	SIFT(0, COMPARE, PACK, BYTES)  \
	SIFT(64, COMPARE, PACK, BYTES) \
	LEAQ  -256(AX), R14        \
	SUBQ  R14, DX              \
	SHRQ  LOGBYTES, DX         \
	MOVQ  -304(AX), R14        \
	MOVQ  DX, -304(AX)         \
	SUBQ  DX, R14              \
	ADDQ  LINE, R14            \
	ADDQ  R14, -312(AX)        \
	CMPQ  DX, LINE             \
	JAE   full                 \
	CMPQ  SI, DI               \
	JB    loop                 \
	JMP   end                  \
full: \
	SUBQ elems_base+0(FP), SI \
	SHRQ LOGBYTES, SI         \
	MOVQ SI, done+80(FP)      \
	SUBQ R8, BX               \
	SHRQ $7, BX               \
	MOVQ BX, full+88(FP)      \
	RET

// func scatter64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatter64(SB), NOSPLIT, $0-96
	BEGIN(MOVQ, $3)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND(MOVQ, 8, $15)
	FINISH($3, 8, $16, VPBROADCASTQ, VPCMPUQ, VPCOMPRESSQ.Z)

// func scatterFitted64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatterFitted64(SB), NOSPLIT, $0-96
	BEGIN(MOVQ, $3)

loop:
	FITTED64
	APPEND(MOVQ, 8, $15)
	FINISH($3, 8, $16, VPBROADCASTQ, VPCMPUQ, VPCOMPRESSQ.Z)

// func scatter32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatter32(SB), NOSPLIT, $0-96
	BEGIN(MOVL, $2)
	MOVQ R13, CX
	XORL R15, R15

loop:
	MOVL    (SI), AX
	ADDQ    $4, SI
	MOVL    AX, BX
	SUBL    R10, BX
	CMOVLCS R15, BX
	SHRL    CX, BX
	CMPL    BX, R11
	CMOVLHI R11, BX
	APPEND(MOVL, 4, $31)
	FINISH($2, 4, $32, VPBROADCASTD, VPCMPUD, VPCOMPRESSD.Z)

// func scatterFitted32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatterFitted32(SB), NOSPLIT, $0-96
	BEGIN(MOVL, $2)

loop:
	MOVL    (SI), AX
	ADDQ    $4, SI
	XORL    CX, CX
	MOVL    AX, BX
	SUBL    R10, BX
	CMOVLCS CX, BX
	CMPL    BX, R11
	CMOVLHI R11, BX
	MOVQ    R13, CX
	MOVL    BX, DX
	SHRL    CX, DX
	MOVQ    (R15)(DX*8), CX
	SHRL    CX, BX
	SHRQ    $32, CX
	ADDL    CX, BX
	APPEND(MOVL, 4, $31)
	FINISH($2, 4, $32, VPBROADCASTD, VPCMPUD, VPCOMPRESSD.Z)

// func scatterGraded64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatterGraded64(SB), NOSPLIT, $48-96
	GRADING
	BEGIN(MOVQ, $3)

loop:
	GRADED64
	APPEND(MOVQ, 8, $15)
	FINISH($3, 8, $16, VPBROADCASTQ, VPCMPUQ, VPCOMPRESSQ.Z)

// func scatterGraded32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, sieves *sieve, slots *uint16) (done int, full uint64)
TEXT ·scatterGraded32(SB), NOSPLIT, $48-96
	GRADING
	BEGIN(MOVL, $2)

loop:
	MOVL    (SI), AX
	ADDQ    $4, SI
	XORL    CX, CX
	MOVL    AX, BX
	SUBL    R10, BX
	CMOVLCS CX, BX
	CMPL    BX, R11
	CMOVLHI R11, BX
	SUBL    center-24(SP), BX
	SBBL    R14, R14
	XORL    R14, BX
	MOVQ    R14, isBelow-32(SP)
	MOVQ    R13, CX
	MOVL    BX, DX
	SHRL    CX, DX
	XORL    CX, CX
	GRADE
	MOVQ    (R15)(DX*8), CX
	SHRL    CX, BX
	SHRQ    $32, CX
	ADDL    CX, BX
	XORL    isBelow-32(SP), BX
	ADDL    below-48(SP), BX
	APPEND(MOVL, 4, $31)
	FINISH($2, 4, $32, VPBROADCASTD, VPCMPUD, VPCOMPRESSD.Z)

// func storeFence()
TEXT ·storeFence(SB), NOSPLIT, $0-0
	SFENCE
	RET
