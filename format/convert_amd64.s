#include "textflag.h"

// Conversion of vectors of numbers. See convert_amd64.go.
//
//	SI  next to convert          DI  where it goes            CX  numbers left
//	Y10 order of bytes, first    Y11 flipped before           Y12 flipped if the sign bit is set
//	Y13 flipped after            Y14 order of bytes, last     Y15 zeros, of which negative numbers are less

#define BEGIN \
	MOVQ           dst+0(FP), DI  \
	MOVQ           src+8(FP), SI  \
	MOVQ           n+16(FP), CX   \
	MOVQ           c+24(FP), AX   \
	VBROADCASTI128 0(AX), Y10     \
	VPBROADCASTQ   16(AX), Y11    \
	VPBROADCASTQ   24(AX), Y12    \
	VPBROADCASTQ   32(AX), Y13    \
	VBROADCASTI128 40(AX), Y14    \
	VPXOR          Y15, Y15, Y15

// CONVERT converts NUMBERS, a vector, with SIGNS as scratch.
#define CONVERT(COMPARE, NUMBERS, SIGNS) \
	VPSHUFB        Y10, NUMBERS, NUMBERS   \
	VPXOR          Y11, NUMBERS, NUMBERS   \
	COMPARE        NUMBERS, Y15, SIGNS     \
	VPAND          Y12, SIGNS, SIGNS       \
	VPXOR          Y13, NUMBERS, NUMBERS   \
	VPXOR          SIGNS, NUMBERS, NUMBERS \
	VPSHUFB        Y14, NUMBERS, NUMBERS

// func convert64(dst, src unsafe.Pointer, n int, c *conversion)
TEXT ·convert64(SB), NOSPLIT, $0-32
	BEGIN

loop:
	VMOVDQU 0(SI), Y0
	VMOVDQU 32(SI), Y1
	CONVERT(VPCMPGTQ, Y0, Y2)
	CONVERT(VPCMPGTQ, Y1, Y3)
	VMOVDQU Y0, 0(DI)
	VMOVDQU Y1, 32(DI)
	ADDQ    $64, SI
	ADDQ    $64, DI
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET

// func convert32(dst, src unsafe.Pointer, n int, c *conversion)
TEXT ·convert32(SB), NOSPLIT, $0-32
	BEGIN

loop:
	VMOVDQU (SI), Y0
	CONVERT(VPCMPGTD, Y0, Y2)
	VMOVDQU Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop
	VZEROUPPER
	RET

// func convertWider(dst, src unsafe.Pointer, n int, c *conversion)
TEXT ·convertWider(SB), NOSPLIT, $0-32
	BEGIN

loop:
	VMOVDQU      (SI), Y0
	CONVERT(VPCMPGTD, Y0, Y2)
	VEXTRACTI128 $1, Y0, X1
	VPMOVZXDQ    X0, Y0
	VPMOVZXDQ    X1, Y1
	VMOVDQU      Y0, 0(DI)
	VMOVDQU      Y1, 32(DI)
	ADDQ         $32, SI
	ADDQ         $64, DI
	SUBQ         $8, CX
	JNZ          loop
	VZEROUPPER
	RET
