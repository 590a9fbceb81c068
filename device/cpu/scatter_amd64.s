#include "textflag.h"
#include "scatter_amd64.h"

// The inner loops of scatterer.add, for 64- and 32-bit elements and for plain and fitted buckets, with even cells and with
// graded ones. See scatter_amd64.go, and scatter_amd64.h for the registers.
// Only the instructions that every amd64 has are used.

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

// COUNT puts the element AX into the line of bucket BX as APPEND does, but if it is the bucket's heavy element, the next one
// will be put there, and at counts it, from bit 36 on: see countShift. A line is full if the number of elements passes a
// multiple of LINE. TEMP is a register that is free now.
#define COUNT(MOV, CMP, BYTES, LASTINLINE, LINE, TEMP) \
	MOVQ (R9)(BX*8), DX         \
	MOVQ DX, R14                \
	ANDL LASTINLINE, R14        \
	MOVQ BX, TEMP               \
	SHLQ $7, TEMP               \
	ADDQ R8, TEMP               \
	MOV  AX, (TEMP)(R14*BYTES)  \
	MOVQ heavy_ptr-56(SP), R14  \
	MOVQ $0x1000000000, TEMP    \
	CMP  AX, (R14)(BX*8)        \
	LEAQ (DX)(TEMP*1), TEMP     \
	LEAQ 1(DX), R14             \
	CMOVQEQ TEMP, R14           \
	MOVQ R14, (R9)(BX*8)        \
	XORQ R14, DX                \
	TESTL LINE, DX              \
	JNE  flush                  \
	CMPQ SI, DI                 \
	JB   loop

// HEAVY keeps where the heavy elements are.
#define HEAVY \
	MOVQ heavy+64(FP), R14     \
	MOVQ R14, heavy_ptr-56(SP)

// FINISH is what follows APPEND, FINISHCOUNT what follows COUNT.
#define FINISH(LOGBYTES, LINE) \
	END(LOGBYTES, done+64(FP), full+72(FP)) \
flush: \
	FULLLINE(LOGBYTES, LOGBYTES, LINE, done+64(FP), full+72(FP))

#define FINISHCOUNT(LOGBYTES, LINE) \
	END(LOGBYTES, done+72(FP), full+80(FP)) \
flush: \
	MOVQ R14, DX              \
	SHLQ $28, DX              \
	SHRQ $28, DX              \
	SHLQ $7, BX               \
	ADDQ R8, BX               \
	FULLLINE(LOGBYTES, LOGBYTES, LINE, done+72(FP), full+80(FP))

// PLAIN32, FITTED32 and GRADED32 do what PLAIN64, FITTED64 and GRADED64 do, for 32-bit elements.
#define PLAIN32 \
	MOVL    (SI), AX                  \
	ADDQ    $4, SI                    \
	MOVL    AX, BX                    \
	SUBL    R10, BX                   \
	CMOVLCS R15, BX                   \
	SHRL    CX, BX                    \
	CMPL    BX, R11                   \
	CMOVLHI R11, BX

#define FITTED32 \
	MOVL    (SI), AX                  \
	ADDQ    $4, SI                    \
	XORL    CX, CX                    \
	MOVL    AX, BX                    \
	SUBL    R10, BX                   \
	CMOVLCS CX, BX                    \
	CMPL    BX, R11                   \
	CMOVLHI R11, BX                   \
	MOVQ    R13, CX                   \
	MOVL    BX, DX                    \
	SHRL    CX, DX                    \
	MOVQ    (R15)(DX*8), CX           \
	SHRL    CX, BX                    \
	SHRQ    $32, CX                   \
	ADDL    CX, BX

#define GRADED32 \
	MOVL    (SI), AX                  \
	ADDQ    $4, SI                    \
	XORL    CX, CX                    \
	MOVL    AX, BX                    \
	SUBL    R10, BX                   \
	CMOVLCS CX, BX                    \
	CMPL    BX, R11                   \
	CMOVLHI R11, BX                   \
	SUBL    center-24(SP), BX         \
	SBBL    R14, R14                  \
	XORL    R14, BX                   \
	MOVQ    R14, isBelow-32(SP)       \
	MOVQ    R13, CX                   \
	MOVL    BX, DX                    \
	SHRL    CX, DX                    \
	XORL    CX, CX                    \
	GRADE                             \
	MOVQ    (R15)(DX*8), CX           \
	SHRL    CX, BX                    \
	SHRQ    $32, CX                   \
	ADDL    CX, BX                    \
	XORL    isBelow-32(SP), BX        \
	ADDL    below-48(SP), BX

// func scatter64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64) (done int, full uint64)
TEXT ·scatter64(SB), NOSPLIT, $0-80
	BEGIN(MOVQ, $3)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND(MOVQ, 8, $15)
	FINISH($3, $16)

// func countPlain64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countPlain64(SB), NOSPLIT, $56-88
	HEAVY
	BEGIN(MOVQ, $3)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	COUNT(MOVQ, CMPQ, 8, $15, $16, R13)
	FINISHCOUNT($3, $16)

// func scatterFitted64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64) (done int, full uint64)
TEXT ·scatterFitted64(SB), NOSPLIT, $0-80
	BEGIN(MOVQ, $3)

loop:
	FITTED64
	APPEND(MOVQ, 8, $15)
	FINISH($3, $16)

// func countFitted64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countFitted64(SB), NOSPLIT, $56-88
	HEAVY
	BEGIN(MOVQ, $3)

loop:
	FITTED64
	COUNT(MOVQ, CMPQ, 8, $15, $16, CX)
	FINISHCOUNT($3, $16)

// func scatterGraded64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64) (done int, full uint64)
TEXT ·scatterGraded64(SB), NOSPLIT, $48-80
	GRADING
	BEGIN(MOVQ, $3)

loop:
	GRADED64
	APPEND(MOVQ, 8, $15)
	FINISH($3, $16)

// func countGraded64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countGraded64(SB), NOSPLIT, $56-88
	HEAVY
	GRADING
	BEGIN(MOVQ, $3)

loop:
	GRADED64
	COUNT(MOVQ, CMPQ, 8, $15, $16, CX)
	FINISHCOUNT($3, $16)

// func scatter32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64) (done int, full uint64)
TEXT ·scatter32(SB), NOSPLIT, $0-80
	BEGIN(MOVL, $2)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN32
	APPEND(MOVL, 4, $31)
	FINISH($2, $32)

// func countPlain32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countPlain32(SB), NOSPLIT, $56-88
	HEAVY
	BEGIN(MOVL, $2)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN32
	COUNT(MOVL, CMPL, 4, $31, $32, R13)
	FINISHCOUNT($2, $32)

// func scatterFitted32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64) (done int, full uint64)
TEXT ·scatterFitted32(SB), NOSPLIT, $0-80
	BEGIN(MOVL, $2)

loop:
	FITTED32
	APPEND(MOVL, 4, $31)
	FINISH($2, $32)

// func countFitted32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countFitted32(SB), NOSPLIT, $56-88
	HEAVY
	BEGIN(MOVL, $2)

loop:
	FITTED32
	COUNT(MOVL, CMPL, 4, $31, $32, CX)
	FINISHCOUNT($2, $32)

// func scatterGraded32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64) (done int, full uint64)
TEXT ·scatterGraded32(SB), NOSPLIT, $48-80
	GRADING
	BEGIN(MOVL, $2)

loop:
	GRADED32
	APPEND(MOVL, 4, $31)
	FINISH($2, $32)

// func countGraded32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64, heavy *uint64) (done int, full uint64)
TEXT ·countGraded32(SB), NOSPLIT, $56-88
	HEAVY
	GRADING
	BEGIN(MOVL, $2)

loop:
	GRADED32
	COUNT(MOVL, CMPL, 4, $31, $32, CX)
	FINISHCOUNT($2, $32)

// func storeFence()
TEXT ·storeFence(SB), NOSPLIT, $0-0
	SFENCE
	RET
