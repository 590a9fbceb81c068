#include "textflag.h"

// The inner loops of radix: moveBlock and countTwo. See radix_amd64.go. BEXTR takes a digit out of an element in one
// instruction: its control word is the first bit, and the number of bits above that from bit 8. Registers:
//
//	SI   next of the elements    DI   their end
//	R10  low                     R11  control
//
// The first three arguments of the macros are MOVE, SUBTRACT and BEXTR of elements of some BYTES.

// STEP moves the element at a place.
#define STEP(MOVE, SUBTRACT, BEXTR, BYTES, at) \
	MOVE     (at*BYTES)(SI), AX  \
	MOVE     AX, BX              \
	SUBTRACT R10, BX             \
	BEXTR    R11, BX, BX         \
	MOVQ     (R9)(BX*8), DX      \
	MOVE     AX, (R8)(DX*BYTES)  \
	INCQ     DX                  \
	MOVQ     DX, (R9)(BX*8)

// ASK does that after it has asked for the line that the element 16 places further on will go to.
#define ASK(MOVE, SUBTRACT, BEXTR, BYTES, at) \
	MOVE       ((16+at)*BYTES)(SI), CX  \
	SUBTRACT   R10, CX                  \
	BEXTR      R11, CX, CX              \
	MOVQ       (R9)(CX*8), CX           \
	PREFETCHT0 (R8)(CX*BYTES)           \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, at)

// MOVEALL moves a block to R8, to the places in R9. Of the first elements, ahead of them, each asks: a multiple of 4,
// with 16 more behind them.
#define MOVEALL(MOVE, SUBTRACT, BEXTR, BYTES) \
	MOVQ to+0(FP), R8           \
	MOVQ block_base+8(FP), SI   \
	MOVQ block_len+16(FP), DI   \
	MOVE low+32(FP), R10        \
	MOVQ control+40(FP), R11    \
	MOVQ places+48(FP), R9      \
	MOVQ ahead+56(FP), R13      \
	LEAQ (SI)(R13*BYTES), R13   \
	LEAQ (SI)(DI*BYTES), DI     \
	LEAQ (-3*BYTES)(DI), R12    \
	CMPQ SI, R13                \
	JAE  plain                  \
ahead: \
	ASK(MOVE, SUBTRACT, BEXTR, BYTES, 0) \
	ASK(MOVE, SUBTRACT, BEXTR, BYTES, 1) \
	ASK(MOVE, SUBTRACT, BEXTR, BYTES, 2) \
	ASK(MOVE, SUBTRACT, BEXTR, BYTES, 3) \
	ADDQ $(4*BYTES), SI         \
	CMPQ SI, R13                \
	JB   ahead                  \
plain: \
	CMPQ SI, R12                \
	JAE  rest                   \
four: \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, 0) \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, 1) \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, 2) \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, 3) \
	ADDQ $(4*BYTES), SI         \
	CMPQ SI, R12                \
	JB   four                   \
rest: \
	CMPQ SI, DI                 \
	JAE  end                    \
	STEP(MOVE, SUBTRACT, BEXTR, BYTES, 0) \
	ADDQ $BYTES, SI             \
	JMP  rest                   \
end: \
	RET

// COUNT counts the two digits of the element at a place.
#define COUNT(MOVE, SUBTRACT, BEXTR, BYTES, at) \
	MOVE     (at*BYTES)(SI), AX  \
	SUBTRACT R10, AX             \
	BEXTR    R11, AX, BX         \
	BEXTR    R12, AX, DX         \
	INCQ     (R8)(BX*8)          \
	INCQ     (R9)(DX*8)

#define COUNTALL(MOVE, SUBTRACT, BEXTR, BYTES) \
	MOVQ block_base+0(FP), SI    \
	MOVQ block_len+8(FP), DI     \
	MOVE low+24(FP), R10         \
	MOVQ control+32(FP), R11     \
	MOVQ nextControl+40(FP), R12 \
	MOVQ counts+48(FP), R8       \
	MOVQ next+56(FP), R9         \
	LEAQ (SI)(DI*BYTES), DI      \
	LEAQ (-BYTES)(DI), R13       \
	CMPQ SI, R13                 \
	JAE  rest                    \
two: \
	COUNT(MOVE, SUBTRACT, BEXTR, BYTES, 0) \
	COUNT(MOVE, SUBTRACT, BEXTR, BYTES, 1) \
	ADDQ $(2*BYTES), SI          \
	CMPQ SI, R13                 \
	JB   two                     \
rest: \
	CMPQ SI, DI                  \
	JAE  end                     \
	COUNT(MOVE, SUBTRACT, BEXTR, BYTES, 0) \
	ADDQ $BYTES, SI              \
	JMP  rest                    \
end: \
	RET

// func move64(to *uint64, block []uint64, low, control uint64, places *[digits]uint64, ahead int)
TEXT ·move64(SB), NOSPLIT, $0-64
	MOVEALL(MOVQ, SUBQ, BEXTRQ, 8)

// func move32(to *uint32, block []uint32, low uint32, control uint64, places *[digits]uint64, ahead int)
TEXT ·move32(SB), NOSPLIT, $0-64
	MOVEALL(MOVL, SUBL, BEXTRL, 4)

// func count64(block []uint64, low, control, nextControl uint64, counts, next *[digits]uint64)
TEXT ·count64(SB), NOSPLIT, $0-64
	COUNTALL(MOVQ, SUBQ, BEXTRQ, 8)

// func count32(block []uint32, low uint32, control, nextControl uint64, counts, next *[digits]uint64)
TEXT ·count32(SB), NOSPLIT, $0-64
	COUNTALL(MOVL, SUBL, BEXTRL, 4)

// func PrefetchRecords(kept *byte, elems []uint64, indexMask uint64, size int)
TEXT ·PrefetchRecords(SB), NOSPLIT, $0-48
	MOVQ kept+0(FP), R8
	MOVQ elems_base+8(FP), SI
	MOVQ elems_len+16(FP), CX
	MOVQ indexMask+32(FP), R9
	MOVQ size+40(FP), R10

nextRecord:
	MOVQ  (SI), AX
	ADDQ  $8, SI
	ANDQ  R9, AX
	IMULQ R10, AX
	LEAQ  (R8)(AX*1), BX
	LEAQ  (BX)(R10*1), DX

nextRecordLine:
	PREFETCHT0 (BX)
	ADDQ $64, BX
	CMPQ BX, DX
	JB   nextRecordLine
	PREFETCHT0 -1(DX)
	DECQ CX
	JNZ  nextRecord
	RET
