#include "textflag.h"
#include "scatter_amd64.h"

// The inner loops of carrier.scatter: elements are the keys, and what goes to the lines are the words of the records. See
// carry_amd64.go, and scatter_amd64.h for the registers.

#define BEGIN \
	MOVQ keys_base+0(FP), SI \
	MOVQ keys_len+8(FP), DI  \
	SHLQ $3, DI              \
	ADDQ SI, DI              \
	MOVQ b+24(FP), AX        \
	MOVQ 0(AX), R10          \
	MOVQ 8(AX), R13          \
	MOVQ 16(AX), R11         \
	MOVQ 24(AX), R15         \
	MOVQ lines+32(FP), R8    \
	MOVQ at+40(FP), R9       \
	MOVQ pool+48(FP), R12    \
	CMPQ SI, DI              \
	JAE  end

// WORDS8 keeps how far the words are from their keys, WORDS16 from twice their keys.
#define WORDS8 \
	MOVQ words+64(FP), AX       \
	SUBQ keys_base+0(FP), AX    \
	MOVQ AX, words_off-56(SP)

#define WORDS16 \
	MOVQ words+64(FP), AX       \
	SUBQ keys_base+0(FP), AX    \
	SUBQ keys_base+0(FP), AX    \
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

// FINISH is what follows the loop: the end of the keys; a full line, which is written to its block; and a full line
// whose block is full as well.
#define FINISH(LINE, LOGBYTES) \
end: \
	SUBQ  keys_base+0(FP), SI   \
	SHRQ  $3, SI                \
	MOVQ  SI, done+72(FP)       \
	MOVQ  $-1, full+80(FP)      \
	RET                         \
flush: \
	SUBQ  LINE, DX              \
	MOVQ  blockMask+56(FP), R14 \
	TESTQ R14, DX               \
	JEQ   full                  \
	SHLQ  LOGBYTES, DX          \
	ADDQ  R12, DX               \
	STREAM(0)                   \
	STREAM(64)                  \
	CMPQ  SI, DI                \
	JB    loop                  \
	JMP   end                   \
full: \
	SUBQ  keys_base+0(FP), SI   \
	SHRQ  $3, SI                \
	MOVQ  SI, done+72(FP)       \
	SUBQ  R8, BX                \
	SHRQ  $7, BX                \
	MOVQ  BX, full+80(FP)       \
	RET

// func carry8(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carry8(SB), NOSPLIT, $56-88
	WORDS8
	BEGIN
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND8
	FINISH($16, $3)

// func carryFitted8(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryFitted8(SB), NOSPLIT, $56-88
	WORDS8
	BEGIN

loop:
	FITTED64
	APPEND8
	FINISH($16, $3)

// func carryGraded8(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryGraded8(SB), NOSPLIT, $56-88
	WORDS8
	GRADING
	BEGIN

loop:
	GRADED64
	APPEND8
	FINISH($16, $3)

// func carry16(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carry16(SB), NOSPLIT, $56-88
	WORDS16
	BEGIN
	MOVQ R13, CX
	XORL R15, R15

loop:
	PLAIN64
	APPEND16
	FINISH($8, $4)

// func carryFitted16(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryFitted16(SB), NOSPLIT, $56-88
	WORDS16
	BEGIN

loop:
	FITTED64
	APPEND16
	FINISH($8, $4)

// func carryGraded16(keys []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64, words *uint64) (done int, full uint64)
TEXT ·carryGraded16(SB), NOSPLIT, $56-88
	WORDS16
	GRADING
	BEGIN

loop:
	GRADED64
	APPEND16
	FINISH($8, $4)
