#include "textflag.h"

// Sorting by cells. See cells_amd64.go.

// Elements are taken from the four quarters of a block in turn. In data that rise or fall, neighbours are of one
// cell, and each would wait for the one before to have counted or moved on.

// QUARTERS has SI at the first quarter, the others R13, 2·R13 and R14 bytes further on, and R12 elements in each.
#define QUARTERS \
	MOVQ DI, R12           \
	SHRQ $2, R12           \
	LEAQ (R12*8), R13      \
	LEAQ (R13)(R13*2), R14 \
	LEAQ (SI)(DI*8), DI

// EACHQUARTER does CELL with the next element of each quarter.
#define EACHQUARTER(CELL) \
	CELL((SI))         \
	CELL((SI)(R13*1))  \
	CELL((SI)(R13*2))  \
	CELL((SI)(R14*1))  \
	ADDQ $8, SI

// func countCells(block []uint64, low, control uint64, counts *uint32)
TEXT ·countCells(SB), NOSPLIT, $0-48
	MOVQ block_base+0(FP), SI
	MOVQ block_len+8(FP), DI
	MOVQ low+24(FP), R10
	MOVQ control+32(FP), R11
	MOVQ counts+40(FP), R8
	QUARTERS
	TESTQ R12, R12
	JZ    restCounted

#define COUNTCELL(ELEM) \
	MOVQ   ELEM, AX     \
	SUBQ   R10, AX      \
	BEXTRQ R11, AX, AX  \
	INCL   (R8)(AX*4)

countFour:
	EACHQUARTER(COUNTCELL)
	DECQ R12
	JNZ  countFour
	ADDQ R14, SI

restCounted:
	CMPQ SI, DI
	JAE  counted
	COUNTCELL((SI))
	ADDQ $8, SI
	JMP  restCounted

counted:
	RET

// func moveCells(to *uint64, block []uint64, low, control uint64, places *uint32, ahead int)
TEXT ·moveCells(SB), NOSPLIT, $0-64
	MOVQ to+0(FP), R8
	MOVQ block_base+8(FP), SI
	MOVQ block_len+16(FP), DI
	MOVQ low+32(FP), R10
	MOVQ control+40(FP), R11
	MOVQ places+48(FP), R9
	QUARTERS
	MOVQ  ahead+56(FP), R15
	SUBQ  R15, R12
	TESTQ R15, R15
	JZ    plainCells

#define MOVECELL(ELEM) \
	MOVQ   ELEM, AX       \
	MOVQ   AX, BX         \
	SUBQ   R10, BX        \
	BEXTRQ R11, BX, BX    \
	MOVL   (R9)(BX*4), DX \
	MOVQ   AX, (R8)(DX*8) \
	INCL   DX             \
	MOVL   DX, (R9)(BX*4)

// ASKCELL moves an element after it has asked for the line of the one 16 elements further on.
#define ASKCELL(ELEM) \
	MOVQ       128 ELEM, CX   \
	SUBQ       R10, CX        \
	BEXTRQ     R11, CX, CX    \
	MOVL       (R9)(CX*4), CX \
	PREFETCHT0 (R8)(CX*8)     \
	MOVECELL(ELEM)

aheadCells:
	EACHQUARTER(ASKCELL)
	DECQ R15
	JNZ  aheadCells

plainCells:
	TESTQ R12, R12
	JZ    restMoved

moveFour:
	EACHQUARTER(MOVECELL)
	DECQ R12
	JNZ  moveFour
	ADDQ R14, SI

restMoved:
	CMPQ SI, DI
	JAE  moved
	MOVECELL((SI))
	ADDQ $8, SI
	JMP  restMoved

moved:
	RET

// func scanCells(counts *uint32, n int) (squares uint64)
//
// A sum over 16 counters takes four steps, which add what is 1, 2, 4 and 8 counters before.
TEXT ·scanCells(SB), NOSPLIT, $0-24
	MOVQ   counts+0(FP), SI
	MOVQ   n+8(FP), CX
	VPXORD Z0, Z0, Z0 // zeros
	VPXORD Z1, Z1, Z1 // the sum of the counters before, in every place
	VPXORD Z2, Z2, Z2 // squares
	MOVL   $15, AX
	VPBROADCASTD AX, Z3
	MOVL   $8191, AX
	VPBROADCASTD AX, Z4

scan:
	VMOVDQU32 (SI), Z5
	VPMINUD   Z4, Z5, Z6
	VPMULLD   Z6, Z6, Z6
	VPADDD    Z6, Z2, Z2
	VALIGND   $15, Z0, Z5, Z7
	VPADDD    Z7, Z5, Z7
	VALIGND   $14, Z0, Z7, Z8
	VPADDD    Z8, Z7, Z7
	VALIGND   $12, Z0, Z7, Z8
	VPADDD    Z8, Z7, Z7
	VALIGND   $8, Z0, Z7, Z8
	VPADDD    Z8, Z7, Z7
	VPSUBD    Z5, Z7, Z5
	VPADDD    Z1, Z5, Z5
	VMOVDQU32 Z5, (SI)
	VPERMD    Z7, Z3, Z7
	VPADDD    Z7, Z1, Z1
	ADDQ      $64, SI
	SUBQ      $16, CX
	JNZ       scan

	VEXTRACTI64X4 $1, Z2, Y3
	VPMOVZXDQ     Y2, Z2
	VPMOVZXDQ     Y3, Z3
	VPADDQ        Z2, Z3, Z2
	VEXTRACTI64X4 $1, Z2, Y3
	VPADDQ        Y2, Y3, Y2
	VEXTRACTI128  $1, Y2, X3
	VPADDQ        X2, X3, X2
	VPSRLDQ       $8, X2, X3
	VPADDQ        X2, X3, X2
	VMOVQ         X2, squares+16(FP)
	VZEROUPPER
	RET

// ORDER puts the lesser elements of two registers into the first.
#define ORDER(A, B) \
	VPMINUQ   A, B, Z31 \
	VPMAXUQ   A, B, B   \
	VMOVDQA64 Z31, A

// TRANSPOSE makes eight rows, Z0 to Z7, columns, Z8 to Z15.
#define TRANSPOSE \
	VPUNPCKLQDQ Z1, Z0, Z16        \
	VPUNPCKHQDQ Z1, Z0, Z17        \
	VPUNPCKLQDQ Z3, Z2, Z18        \
	VPUNPCKHQDQ Z3, Z2, Z19        \
	VPUNPCKLQDQ Z5, Z4, Z20        \
	VPUNPCKHQDQ Z5, Z4, Z21        \
	VPUNPCKLQDQ Z7, Z6, Z22        \
	VPUNPCKHQDQ Z7, Z6, Z23        \
	VSHUFI64X2  $0x88, Z18, Z16, Z0 \
	VSHUFI64X2  $0xDD, Z18, Z16, Z1 \
	VSHUFI64X2  $0x88, Z19, Z17, Z2 \
	VSHUFI64X2  $0xDD, Z19, Z17, Z3 \
	VSHUFI64X2  $0x88, Z22, Z20, Z4 \
	VSHUFI64X2  $0xDD, Z22, Z20, Z5 \
	VSHUFI64X2  $0x88, Z23, Z21, Z6 \
	VSHUFI64X2  $0xDD, Z23, Z21, Z7 \
	VSHUFI64X2  $0x88, Z4, Z0, Z8   \
	VSHUFI64X2  $0xDD, Z4, Z0, Z12  \
	VSHUFI64X2  $0x88, Z5, Z1, Z10  \
	VSHUFI64X2  $0xDD, Z5, Z1, Z14  \
	VSHUFI64X2  $0x88, Z6, Z2, Z9   \
	VSHUFI64X2  $0xDD, Z6, Z2, Z13  \
	VSHUFI64X2  $0x88, Z7, Z3, Z11  \
	VSHUFI64X2  $0xDD, Z7, Z3, Z15

// func sortGroups(dst, src *uint64, groups int)
//
// Eight octets are sorted at once: Z8 has the first elements of all of them, Z9 the second ones, and so on. So a
// comparison of two registers compares eight pairs of elements, and the octets that straddle, made of the greater
// half of one and the lesser half of the next, take a shift of half of the registers by one place. The networks are
// the one of 19 comparators for 8 elements (Knuth, The Art of Computer Programming 3, 5.3.4) and Batcher's odd-even
// merge.
TEXT ·sortGroups(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ groups+16(FP), CX
	VPBROADCASTQ 0(SI), Z24 // Z24 to Z27 have the greater half of the octet before, in the last place
	VPBROADCASTQ 8(SI), Z25
	VPBROADCASTQ 16(SI), Z26
	VPBROADCASTQ 24(SI), Z27
	ADDQ $32, SI

group:
	VMOVDQU64 0(SI), Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	VMOVDQU64 256(SI), Z4
	VMOVDQU64 320(SI), Z5
	VMOVDQU64 384(SI), Z6
	VMOVDQU64 448(SI), Z7
	TRANSPOSE

	ORDER(Z8, Z10)
	ORDER(Z9, Z11)
	ORDER(Z12, Z14)
	ORDER(Z13, Z15)
	ORDER(Z8, Z12)
	ORDER(Z9, Z13)
	ORDER(Z10, Z14)
	ORDER(Z11, Z15)
	ORDER(Z8, Z9)
	ORDER(Z10, Z11)
	ORDER(Z12, Z13)
	ORDER(Z14, Z15)
	ORDER(Z10, Z12)
	ORDER(Z11, Z13)
	ORDER(Z9, Z12)
	ORDER(Z11, Z14)
	ORDER(Z9, Z10)
	ORDER(Z11, Z12)
	ORDER(Z13, Z14)

	VALIGNQ   $7, Z24, Z12, Z0
	VALIGNQ   $7, Z25, Z13, Z1
	VALIGNQ   $7, Z26, Z14, Z2
	VALIGNQ   $7, Z27, Z15, Z3
	VMOVDQA64 Z12, Z24
	VMOVDQA64 Z13, Z25
	VMOVDQA64 Z14, Z26
	VMOVDQA64 Z15, Z27
	VMOVDQA64 Z8, Z4
	VMOVDQA64 Z9, Z5
	VMOVDQA64 Z10, Z6
	VMOVDQA64 Z11, Z7

	ORDER(Z0, Z4)
	ORDER(Z1, Z5)
	ORDER(Z2, Z6)
	ORDER(Z3, Z7)
	ORDER(Z2, Z4)
	ORDER(Z3, Z5)
	ORDER(Z1, Z2)
	ORDER(Z3, Z4)
	ORDER(Z5, Z6)

	TRANSPOSE
	VMOVDQU64 Z8, 0(DI)
	VMOVDQU64 Z9, 64(DI)
	VMOVDQU64 Z10, 128(DI)
	VMOVDQU64 Z11, 192(DI)
	VMOVDQU64 Z12, 256(DI)
	VMOVDQU64 Z13, 320(DI)
	VMOVDQU64 Z14, 384(DI)
	VMOVDQU64 Z15, 448(DI)
	ADDQ $512, SI
	ADDQ $512, DI
	DECQ CX
	JNZ  group

	VALIGNQ $7, Z24, Z24, Z24
	VALIGNQ $7, Z25, Z25, Z25
	VALIGNQ $7, Z26, Z26, Z26
	VALIGNQ $7, Z27, Z27, Z27
	VMOVQ   X24, 0(DI)
	VMOVQ   X25, 8(DI)
	VMOVQ   X26, 16(DI)
	VMOVQ   X27, 24(DI)
	VZEROUPPER
	RET
