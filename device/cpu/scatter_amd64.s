#include "textflag.h"

// The inner loop of scatterer.add, for 64- and 32-bit elements. See scatter_amd64.go.
//
//	SI  next element      DI  end of the elements
//	R8  lines             R9  at
//	R10 low               CX  shift
//	R11 last              R12 elements of the pool
//	R13 block-1           R15 0
//
// Only the instructions that every amd64 has are used. A cache line is written by four stores of 16 bytes that go
// past the caches; they fill one write-combining buffer, so that memory sees one write of 64 bytes.

#define STREAM(at) \
	MOVO   at+0(BX), X0   \
	MOVO   at+16(BX), X1  \
	MOVO   at+32(BX), X2  \
	MOVO   at+48(BX), X3  \
	MOVNTO X0, at+0(DX)   \
	MOVNTO X1, at+16(DX)  \
	MOVNTO X2, at+32(DX)  \
	MOVNTO X3, at+48(DX)

// func scatter64(elems []uint64, b *buckets[uint64], lines, at, pool *uint64, blockMask uint64) (done int, full uint64)
TEXT ·scatter64(SB), NOSPLIT, $0-80
	MOVQ elems_base+0(FP), SI
	MOVQ elems_len+8(FP), DI
	LEAQ (SI)(DI*8), DI
	MOVQ b+24(FP), AX
	MOVQ 0(AX), R10
	MOVQ 8(AX), CX
	MOVQ 16(AX), R11
	MOVQ lines+32(FP), R8
	MOVQ at+40(FP), R9
	MOVQ pool+48(FP), R12
	MOVQ blockMask+56(FP), R13
	XORL R15, R15
	CMPQ SI, DI
	JAE  end64

loop64:
	MOVQ    (SI), AX
	ADDQ    $8, SI
	MOVQ    AX, BX
	SUBQ    R10, BX
	CMOVQCS R15, BX
	SHRQ    CX, BX
	CMPQ    BX, R11
	CMOVQHI R11, BX
	MOVQ    (R9)(BX*8), DX
	MOVQ    DX, R14
	ANDL    $15, R14
	INCQ    DX
	MOVQ    DX, (R9)(BX*8)
	SHLQ    $7, BX
	ADDQ    R8, BX
	MOVQ    AX, (BX)(R14*8)
	CMPL    R14, $15
	JEQ     flush64
	CMPQ    SI, DI
	JB      loop64

end64:
	SUBQ elems_base+0(FP), SI
	SHRQ $3, SI
	MOVQ SI, done+64(FP)
	MOVQ $-1, full+72(FP)
	RET

flush64:
	SUBQ   $16, DX
	TESTQ  R13, DX
	JEQ    full64
	LEAQ   (R12)(DX*8), DX
	STREAM(0)
	STREAM(64)
	CMPQ   SI, DI
	JB     loop64
	JMP    end64

full64:
	SUBQ elems_base+0(FP), SI
	SHRQ $3, SI
	MOVQ SI, done+64(FP)
	SUBQ R8, BX
	SHRQ $7, BX
	MOVQ BX, full+72(FP)
	RET

// func scatter32(elems []uint32, b *buckets[uint32], lines *uint32, at *uint64, pool *uint32, blockMask uint64) (done int, full uint64)
TEXT ·scatter32(SB), NOSPLIT, $0-80
	MOVQ elems_base+0(FP), SI
	MOVQ elems_len+8(FP), DI
	LEAQ (SI)(DI*4), DI
	MOVQ b+24(FP), AX
	MOVL 0(AX), R10
	MOVQ 8(AX), CX
	MOVL 16(AX), R11
	MOVQ lines+32(FP), R8
	MOVQ at+40(FP), R9
	MOVQ pool+48(FP), R12
	MOVQ blockMask+56(FP), R13
	XORL R15, R15
	CMPQ SI, DI
	JAE  end32

loop32:
	MOVL    (SI), AX
	ADDQ    $4, SI
	MOVL    AX, BX
	SUBL    R10, BX
	CMOVLCS R15, BX
	SHRL    CX, BX
	CMPL    BX, R11
	CMOVLHI R11, BX
	MOVQ    (R9)(BX*8), DX
	MOVQ    DX, R14
	ANDL    $31, R14
	INCQ    DX
	MOVQ    DX, (R9)(BX*8)
	SHLQ    $7, BX
	ADDQ    R8, BX
	MOVL    AX, (BX)(R14*4)
	CMPL    R14, $31
	JEQ     flush32
	CMPQ    SI, DI
	JB      loop32

end32:
	SUBQ elems_base+0(FP), SI
	SHRQ $2, SI
	MOVQ SI, done+64(FP)
	MOVQ $-1, full+72(FP)
	RET

flush32:
	SUBQ   $32, DX
	TESTQ  R13, DX
	JEQ    full32
	LEAQ   (R12)(DX*4), DX
	STREAM(0)
	STREAM(64)
	CMPQ   SI, DI
	JB     loop32
	JMP    end32

full32:
	SUBQ elems_base+0(FP), SI
	SHRQ $2, SI
	MOVQ SI, done+64(FP)
	SUBQ R8, BX
	SHRQ $7, BX
	MOVQ BX, full+72(FP)
	RET

// func storeFence()
TEXT ·storeFence(SB), NOSPLIT, $0-0
	SFENCE
	RET
