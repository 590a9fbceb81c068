#include "textflag.h"

// marks<> has, for each value of four bits, the four bytes 0 or 1.
DATA marks<>+0x00(SB)/4, $0x00000000
DATA marks<>+0x04(SB)/4, $0x00000001
DATA marks<>+0x08(SB)/4, $0x00000100
DATA marks<>+0x0c(SB)/4, $0x00000101
DATA marks<>+0x10(SB)/4, $0x00010000
DATA marks<>+0x14(SB)/4, $0x00010001
DATA marks<>+0x18(SB)/4, $0x00010100
DATA marks<>+0x1c(SB)/4, $0x00010101
DATA marks<>+0x20(SB)/4, $0x01000000
DATA marks<>+0x24(SB)/4, $0x01000001
DATA marks<>+0x28(SB)/4, $0x01000100
DATA marks<>+0x2c(SB)/4, $0x01000101
DATA marks<>+0x30(SB)/4, $0x01010000
DATA marks<>+0x34(SB)/4, $0x01010001
DATA marks<>+0x38(SB)/4, $0x01010100
DATA marks<>+0x3c(SB)/4, $0x01010101
GLOBL marks<>(SB), RODATA|NOPTR, $64

// func markFours(ofA, ofB *byte, a, b *uint64, lenA, lenB int) (i, j int)
//
//	SI  the next four keys of a   R8   their marks   R10  the last place for four keys of a
//	DI  the next four keys of b   R9   their marks   R11  the last place for four keys of b
//	Y0  keys of a                 Y1   keys of b     Y2, Y3, Y4  keys of b, rotated by 1, 2, 3
//
// Key k of Y0 is compared with key k+r of Y1, modulo 4, in rotation r. So the results of rotation r
// are those of b after a rotation by r in the other direction.
TEXT ·markFours(SB), NOSPLIT, $0-64
	MOVQ ofA+0(FP), R8
	MOVQ ofB+8(FP), R9
	MOVQ a+16(FP), SI
	MOVQ b+24(FP), DI
	MOVQ lenA+32(FP), R10
	MOVQ lenB+40(FP), R11
	LEAQ -32(SI)(R10*8), R10
	LEAQ -32(DI)(R11*8), R11
	LEAQ marks<>(SB), R12

loop:
	VMOVDQU (SI), Y0
	VMOVDQU (DI), Y1
	VPERMQ  $0x39, Y1, Y2
	VPERMQ  $0x4E, Y1, Y3
	VPERMQ  $0x93, Y1, Y4

	MOVQ  24(SI), AX
	XORL  CX, CX
	CMPQ  AX, 24(DI)
	SETLS CX
	MOVL  $1, DX
	SUBQ  CX, DX

	VPCMPEQQ Y0, Y1, Y1
	VPCMPEQQ Y0, Y2, Y2
	VPCMPEQQ Y0, Y3, Y3
	VPCMPEQQ Y0, Y4, Y4
	VPOR     Y1, Y2, Y5
	VPOR     Y3, Y4, Y6
	VPOR     Y5, Y6, Y5
	VPERMQ   $0x93, Y2, Y2
	VPERMQ   $0x4E, Y3, Y3
	VPERMQ   $0x39, Y4, Y4
	VPOR     Y1, Y2, Y6
	VPOR     Y3, Y4, Y7
	VPOR     Y6, Y7, Y6

	VMOVMSKPD Y5, AX
	VMOVMSKPD Y6, BX
	MOVL      (R12)(AX*4), AX
	MOVL      (R12)(BX*4), BX
	ORL       AX, (R8)
	ORL       BX, (R9)

	LEAQ (R8)(CX*4), R8
	LEAQ (R9)(DX*4), R9
	SHLQ $5, CX
	SHLQ $5, DX
	ADDQ CX, SI
	ADDQ DX, DI
	CMPQ SI, R10
	JHI  done
	CMPQ DI, R11
	JLS  loop

done:
	VZEROUPPER
	SUBQ a+16(FP), SI
	SHRQ $3, SI
	MOVQ SI, i+48(FP)
	SUBQ b+24(FP), DI
	SHRQ $3, DI
	MOVQ DI, j+56(FP)
	RET

// func orderFours(keys *uint64, n int) (less, equal int)
//
//	SI  the next four predecessors   Y0  the sign bits   Y6  whether a key was less
//	CX  the end of all               Y1  keys            Y7  whether one was equal
TEXT ·orderFours(SB), NOSPLIT, $0-32
	MOVQ     keys+0(FP), SI
	MOVQ     n+8(FP), CX
	LEAQ     (SI)(CX*8), CX
	VPCMPEQQ Y0, Y0, Y0
	VPSLLQ   $63, Y0, Y0 // flips unsigned keys to signed ones
	VPXOR    Y6, Y6, Y6
	VPXOR    Y7, Y7, Y7

next:
	VMOVDQU  8(SI), Y1
	VMOVDQU  (SI), Y2
	VPCMPEQQ Y1, Y2, Y3
	VPXOR    Y0, Y1, Y1
	VPXOR    Y0, Y2, Y2
	VPCMPGTQ Y1, Y2, Y4 // predecessor > key
	VPOR     Y3, Y7, Y7
	VPOR     Y4, Y6, Y6
	ADDQ     $32, SI
	CMPQ     SI, CX
	JB       next

	VMOVMSKPD Y6, AX
	VMOVMSKPD Y7, BX
	VZEROUPPER
	MOVQ      AX, less+16(FP)
	MOVQ      BX, equal+24(FP)
	RET
