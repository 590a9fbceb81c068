#include "textflag.h"

// PAIR orders each key of IN and its partner in SWAPPED: the higher of the two goes to the places of mask K.
#define PAIR(IN, SWAPPED, K, OUT) \
	VPMINUQ SWAPPED, IN, OUT    \
	VPMAXUQ SWAPPED, IN, K, OUT

// BITONIC orders a register that ascends and then descends, or is such a one rotated. Two others are lost.
#define BITONIC(A, B, C) \
	VSHUFI64X2 $0x4E, A, A, B \
	PAIR(A, B, K3, C)         \
	VPERMQ     $0x4E, C, B    \
	PAIR(C, B, K2, A)         \
	VPSHUFD    $0x4E, A, B    \
	PAIR(A, B, K1, C)         \
	VMOVDQA64  C, A

// func mergeVectorSteps(ends *vectorEnds)
//
//	SI, DI  the first keys of a and b that are left      R8   dst from there    Z0  the keys held there
//	R9, R10 the ends of what is left of a and b          R11  dst up to there   Z1  the keys held there
TEXT ·mergeVectorSteps(SB), NOSPLIT, $0-8
	MOVQ ends+0(FP), AX
	MOVQ 0(AX), SI
	MOVQ 8(AX), R9
	MOVQ 16(AX), DI
	MOVQ 24(AX), R10
	MOVQ 32(AX), R8
	MOVQ 40(AX), R11
	ADDQ $8, R9
	ADDQ $8, R10
	ADDQ $8, R11
	MOVQ  $0x0001020304050607, AX // 7 in the first of eight places, 0 in the last
	VMOVQ AX, X31
	VPMOVZXBQ X31, Z31
	MOVL  $0xAA, AX
	KMOVW AX, K1
	MOVL  $0xCC, AX
	KMOVW AX, K2
	MOVL  $0xF0, AX
	KMOVW AX, K3

	VMOVDQU64 (SI), Z0
	ADDQ      $64, SI
	SUBQ      $64, R10
	VMOVDQU64 (R10), Z1

step:
	LEAQ 128(SI), AX
	CMPQ AX, R9
	JA   stop
	LEAQ 128(DI), AX
	CMPQ AX, R10
	JA   stop

	// eight keys from the input with the lower first key
	MOVQ    (SI), AX
	MOVQ    SI, CX
	CMPQ    (DI), AX
	CMOVQCS DI, CX
	SBBQ    DX, DX
	ANDQ    $64, DX
	ADDQ    DX, DI
	XORQ    $64, DX
	ADDQ    DX, SI
	VPERMQ  (CX), Z31, Z2

	// eight keys from the input with the higher last key
	MOVQ    -8(R9), AX
	MOVQ    R9, BX
	CMPQ    AX, -8(R10)
	CMOVQCS R10, BX
	SBBQ    DX, DX
	ANDQ    $64, DX
	SUBQ    DX, R10
	XORQ    $64, DX
	SUBQ    DX, R9
	VPERMQ  -64(BX), Z31, Z12

	VPMINUQ Z2, Z0, Z3
	VPMAXUQ Z2, Z0, Z0
	VPMAXUQ Z12, Z1, Z13
	VPMINUQ Z12, Z1, Z1
	BITONIC(Z0, Z4, Z5)
	BITONIC(Z1, Z14, Z15)
	BITONIC(Z3, Z6, Z7)
	BITONIC(Z13, Z16, Z17)
	VMOVDQU64 Z3, (R8)
	VMOVDQU64 Z13, -64(R11)
	ADDQ $64, R8
	SUBQ $64, R11
	JMP  step

stop:
	SUBQ $8, R9
	SUBQ $8, R10
	SUBQ $8, R11
	MOVQ ends+0(FP), AX
	MOVQ SI, 0(AX)
	MOVQ R9, 8(AX)
	MOVQ DI, 16(AX)
	MOVQ R10, 24(AX)
	MOVQ R8, 32(AX)
	MOVQ R11, 40(AX)
	VZEROUPPER
	RET
