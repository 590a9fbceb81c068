#include "textflag.h"

// Sums of the hashes of numbers. See checksum_amd64.go.
//
//	SI  next of the records   CX  how many are left          Y0 to Y4  four records in work, their hashes in Y1 and Y2
//	Y5  zeros                 Y6  flipped first              Y7, Y8    their multiplier, its high half
//	Y9, Y10  that of the high halves of hashes               Y11, Y12  that of the low ones
//	Y13, Y14 sums of the low and high 32 bits of the low halves of hashes; Y15 sum of the high halves, modulo 2^64
//
// A multiplication is of the low 32 bits of each lane.

#define BEGIN \
	MOVQ         recs+0(FP), SI    \
	MOVQ         n+8(FP), CX       \
	MOVQ         by+16(FP), AX     \
	MOVQ         sums+24(FP), DI   \
	VPXOR        Y5, Y5, Y5        \
	VPBROADCASTQ 0(AX), Y6         \
	VPBROADCASTQ 8(AX), Y7         \
	VPSRLQ       $32, Y7, Y8       \
	VPBROADCASTQ 16(AX), Y9        \
	VPSRLQ       $32, Y9, Y10      \
	VPBROADCASTQ 24(AX), Y11       \
	VPSRLQ       $32, Y11, Y12     \
	VPXOR        Y13, Y13, Y13     \
	VPXOR        Y14, Y14, Y14     \
	VPXOR        Y15, Y15, Y15

#define END \
	VMOVDQU Y13, 0(DI)  \
	VMOVDQU Y14, 32(DI) \
	VMOVDQU Y15, 64(DI) \
	VZEROUPPER          \
	RET

// TIMES multiplies X by the number with the low bits M0 and the high bits M1, modulo 2^64.
#define TIMES(M0, M1, X) \
	VPSRLQ   $32, X, Y0  \
	VPMULUDQ M0, Y0, Y0  \
	VPMULUDQ M1, X, Y3   \
	VPMULUDQ M0, X, X    \
	VPADDQ   Y3, Y0, Y0  \
	VPSLLQ   $32, Y0, Y0 \
	VPADDQ   Y0, X, X

#define XORSHIFT(BITS, FROM, X) \
	VPSRLQ BITS, FROM, Y0 \
	VPXOR  Y0, X, X

// HASH adds the hashes of Y0 to the sums.
#define HASH \
	VPXOR    Y6, Y0, Y0           \
	VPSRLQ   $32, Y0, Y1          \
	VPMULUDQ Y7, Y0, Y2           \
	VPMULUDQ Y8, Y0, Y3           \
	VPMULUDQ Y7, Y1, Y4           \
	VPMULUDQ Y8, Y1, Y1           \
	VPSRLQ   $32, Y2, Y0          \
	VPADDQ   Y0, Y3, Y3           \
	VPSRLQ   $32, Y3, Y0          \
	VPADDQ   Y0, Y1, Y1           \
	VPBLENDD $0xAA, Y5, Y3, Y3    \
	VPADDQ   Y3, Y4, Y4           \
	VPSRLQ   $32, Y4, Y0          \
	VPADDQ   Y0, Y1, Y1           \
	VPSLLQ   $32, Y4, Y4          \
	VPBLENDD $0xAA, Y4, Y2, Y2    \
	VPADDQ   Y2, Y2, Y0           \
	VPADDQ   Y0, Y1, Y1           \
	XORSHIFT($3, Y1, Y2)          \
	XORSHIFT($35, Y2, Y2)         \
	TIMES(Y11, Y12, Y2)           \
	XORSHIFT($28, Y2, Y2)         \
	XORSHIFT($37, Y1, Y1)         \
	TIMES(Y9, Y10, Y1)            \
	XORSHIFT($32, Y1, Y1)         \
	VPADDQ   Y1, Y15, Y15         \
	VPSRLQ   $32, Y2, Y0          \
	VPADDQ   Y0, Y14, Y14         \
	VPBLENDD $0xAA, Y5, Y2, Y2    \
	VPADDQ   Y2, Y13, Y13

// func hash8(recs unsafe.Pointer, n int, by *hashing, sums *hashSums)
TEXT ·hash8(SB), NOSPLIT, $0-32
	BEGIN

loop:
	VMOVDQU (SI), Y0
	HASH
	ADDQ    $32, SI
	SUBQ    $4, CX
	JNZ     loop
	END

// func hash4(recs unsafe.Pointer, n int, by *hashing, sums *hashSums)
TEXT ·hash4(SB), NOSPLIT, $0-32
	BEGIN

loop:
	VPMOVZXDQ (SI), Y0
	VPSLLQ    $32, Y0, Y1
	VPOR      Y1, Y0, Y0
	HASH
	ADDQ      $16, SI
	SUBQ      $4, CX
	JNZ       loop
	END
