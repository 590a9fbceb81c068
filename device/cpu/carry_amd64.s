#include "textflag.h"
#include "scatter_amd64.h"

// The inner loops of carrier.scatter: elements are the keys, and what goes to the lines are the words of the records. See
// carry_amd64.go, and scatter_amd64.h for the registers.

// WORDS8 keeps how far the words are from their keys, WORDS16 from twice their keys.
#define WORDS8 \
	MOVQ words+64(FP), AX       \
	SUBQ elems_base+0(FP), AX   \
	MOVQ AX, words_off-56(SP)

#define WORDS16 \
	MOVQ words+64(FP), AX       \
	SUBQ elems_base+0(FP), AX   \
	SUBQ elems_base+0(FP), AX   \
	MOVQ AX, words_off-56(SP)

// APPEND8 puts the word of the key before SI into the line of bucket BX, and goes on while that is not full.
#define APPEND8 \
	MOVQ words_off-56(SP), R14 \
	MOVQ -8(SI)(R14*1), AX     \
	MOVQ (R9)(BX*8), DX        \
	MOVQ DX, R14               \
	ANDL $15, R14              \
	INCQ DX                    \
	MOVQ DX, (R9)(BX*8)        \
	SHLQ $7, BX                \
	ADDQ R8, BX                \
	MOVQ AX, (BX)(R14*8)       \
	CMPL R14, $15              \
	JEQ  flush                 \
	CMPQ SI, DI                \
	JB   loop

#define APPEND16 \
	MOVQ  words_off-56(SP), R14 \
	MOVOU -16(R14)(SI*2), X0    \
	MOVQ  (R9)(BX*8), DX        \
	MOVQ  DX, R14               \
	ANDL  $7, R14               \
	INCQ  DX                    \
	MOVQ  DX, (R9)(BX*8)        \
	SHLQ  $7, BX                \
	ADDQ  R8, BX                \
	SHLL  $4, R14               \
	MOVO  X0, (BX)(R14*1)       \
	CMPL  R14, $112             \
	JEQ   flush                 \
	CMPQ  SI, DI                \
	JB    loop

// FINISH is what follows APPEND8 and APPEND16.
#define FINISH(LINE, LOGWORD) \
	END($3, done+72(FP), full+80(FP)) \
flush: \
	FULLLINE($3, LOGWORD, LINE, done+72(FP), full+80(FP))

// func carry8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carry8(SB), NOSPLIT, $56-88
	WORDS8
	BEGIN(MOVQ, $3)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND8
	FINISH($16, $3)

// func carryFitted8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryFitted8(SB), NOSPLIT, $56-88
	WORDS8
	BEGIN(MOVQ, $3)

loop:
	FITTED64
	APPEND8
	FINISH($16, $3)

// func carryGraded8(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryGraded8(SB), NOSPLIT, $56-88
	WORDS8
	GRADING
	BEGIN(MOVQ, $3)

loop:
	GRADED64
	APPEND8
	FINISH($16, $3)

// func carry16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carry16(SB), NOSPLIT, $56-88
	WORDS16
	BEGIN(MOVQ, $3)
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND16
	FINISH($8, $4)

// func carryFitted16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryFitted16(SB), NOSPLIT, $56-88
	WORDS16
	BEGIN(MOVQ, $3)

loop:
	FITTED64
	APPEND16
	FINISH($8, $4)

// func carryGraded16(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryGraded16(SB), NOSPLIT, $56-88
	WORDS16
	GRADING
	BEGIN(MOVQ, $3)

loop:
	GRADED64
	APPEND16
	FINISH($8, $4)
