#include "textflag.h"

// The inner loops of radix: moveBlock and countTwo. See radix_amd64.go. BEXTR takes a digit out of an element in one
// instruction: its control word is the first bit, and the number of bits above that from bit 8.
//
// Of the first elements, ahead of them, each asks for the line that the element 16 places further on will go to: a
// multiple of 4, with 16 more behind them.

// func move64(to *uint64, block []uint64, low, control uint64, places *[digits]uint64, ahead int)
TEXT ·move64(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), R8
	MOVQ block_base+8(FP), SI
	MOVQ block_len+16(FP), DI
	MOVQ low+32(FP), R10
	MOVQ control+40(FP), R11
	MOVQ places+48(FP), R9
	MOVQ ahead+56(FP), R13
	LEAQ (SI)(R13*8), R13
	LEAQ (SI)(DI*8), DI
	LEAQ -24(DI), R12
	CMPQ SI, R13
	JAE  plain64

#define MOVE64(at) \
	MOVQ   at(SI), AX      \
	MOVQ   AX, BX          \
	SUBQ   R10, BX         \
	BEXTRQ R11, BX, BX     \
	MOVQ   (R9)(BX*8), DX  \
	MOVQ   AX, (R8)(DX*8)  \
	INCQ   DX              \
	MOVQ   DX, (R9)(BX*8)

#define ASK64(at) \
	MOVQ       at+128(SI), CX \
	SUBQ       R10, CX        \
	BEXTRQ     R11, CX, CX    \
	MOVQ       (R9)(CX*8), CX \
	PREFETCHT0 (R8)(CX*8)     \
	MOVE64(at)

ahead64:
	ASK64(0)
	ASK64(8)
	ASK64(16)
	ASK64(24)
	ADDQ $32, SI
	CMPQ SI, R13
	JB   ahead64

plain64:
	CMPQ SI, R12
	JAE  rest64

four64:
	MOVE64(0)
	MOVE64(8)
	MOVE64(16)
	MOVE64(24)
	ADDQ $32, SI
	CMPQ SI, R12
	JB   four64

rest64:
	CMPQ SI, DI
	JAE  end64
	MOVE64(0)
	ADDQ $8, SI
	JMP  rest64

end64:
	RET

// func move32(to *uint32, block []uint32, low uint32, control uint64, places *[digits]uint64, ahead int)
TEXT ·move32(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), R8
	MOVQ block_base+8(FP), SI
	MOVQ block_len+16(FP), DI
	MOVL low+32(FP), R10
	MOVQ control+40(FP), R11
	MOVQ places+48(FP), R9
	MOVQ ahead+56(FP), R13
	LEAQ (SI)(R13*4), R13
	LEAQ (SI)(DI*4), DI
	LEAQ -12(DI), R12
	CMPQ SI, R13
	JAE  plain32

#define MOVE32(at) \
	MOVL   at(SI), AX      \
	MOVL   AX, BX          \
	SUBL   R10, BX         \
	BEXTRL R11, BX, BX     \
	MOVQ   (R9)(BX*8), DX  \
	MOVL   AX, (R8)(DX*4)  \
	INCQ   DX              \
	MOVQ   DX, (R9)(BX*8)

#define ASK32(at) \
	MOVL       at+64(SI), CX  \
	SUBL       R10, CX        \
	BEXTRL     R11, CX, CX    \
	MOVQ       (R9)(CX*8), CX \
	PREFETCHT0 (R8)(CX*4)     \
	MOVE32(at)

ahead32:
	ASK32(0)
	ASK32(4)
	ASK32(8)
	ASK32(12)
	ADDQ $16, SI
	CMPQ SI, R13
	JB   ahead32

plain32:
	CMPQ SI, R12
	JAE  rest32

four32:
	MOVE32(0)
	MOVE32(4)
	MOVE32(8)
	MOVE32(12)
	ADDQ $16, SI
	CMPQ SI, R12
	JB   four32

rest32:
	CMPQ SI, DI
	JAE  end32
	MOVE32(0)
	ADDQ $4, SI
	JMP  rest32

end32:
	RET

// func count64(block []uint64, low, control, nextControl uint64, counts, next *[digits]uint64)
TEXT ·count64(SB), NOSPLIT, $0-64
	MOVQ block_base+0(FP), SI
	MOVQ block_len+8(FP), DI
	MOVQ low+24(FP), R10
	MOVQ control+32(FP), R11
	MOVQ nextControl+40(FP), R12
	MOVQ counts+48(FP), R8
	MOVQ next+56(FP), R9
	LEAQ (SI)(DI*8), DI
	LEAQ -8(DI), R13
	CMPQ SI, R13
	JAE  countRest64

#define COUNT64(at) \
	MOVQ   at(SI), AX     \
	SUBQ   R10, AX        \
	BEXTRQ R11, AX, BX    \
	BEXTRQ R12, AX, DX    \
	INCQ   (R8)(BX*8)     \
	INCQ   (R9)(DX*8)

countTwo64:
	COUNT64(0)
	COUNT64(8)
	ADDQ $16, SI
	CMPQ SI, R13
	JB   countTwo64

countRest64:
	CMPQ SI, DI
	JAE  countEnd64
	COUNT64(0)
	ADDQ $8, SI
	JMP  countRest64

countEnd64:
	RET

// func count32(block []uint32, low uint32, control, nextControl uint64, counts, next *[digits]uint64)
TEXT ·count32(SB), NOSPLIT, $0-64
	MOVQ block_base+0(FP), SI
	MOVQ block_len+8(FP), DI
	MOVL low+24(FP), R10
	MOVQ control+32(FP), R11
	MOVQ nextControl+40(FP), R12
	MOVQ counts+48(FP), R8
	MOVQ next+56(FP), R9
	LEAQ (SI)(DI*4), DI
	LEAQ -4(DI), R13
	CMPQ SI, R13
	JAE  countRest32

#define COUNT32(at) \
	MOVL   at(SI), AX     \
	SUBL   R10, AX        \
	BEXTRL R11, AX, BX    \
	BEXTRL R12, AX, DX    \
	INCQ   (R8)(BX*8)     \
	INCQ   (R9)(DX*8)

countTwo32:
	COUNT32(0)
	COUNT32(4)
	ADDQ $8, SI
	CMPQ SI, R13
	JB   countTwo32

countRest32:
	CMPQ SI, DI
	JAE  countEnd32
	COUNT32(0)
	ADDQ $4, SI
	JMP  countRest32

countEnd32:
	RET
