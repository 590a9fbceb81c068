// What the scatters of elements and of records share. In these macros
//
//	SI  next element      DI  end of the elements
//	R8  lines             R9  at
//	R10 low               R11 last
//	R12 elements of the pool
//	R13 shift             R15 0; fitted: cells
//	AX  the element       BX  its bucket, then the bucket's line

// STREAM writes the 64 bytes of line BX from at on to DX. A cache line is written by four stores of 16 bytes that go
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

// GRADING keeps the grading, and two to its bits.
#define GRADING \
	MOVQ b+24(FP), AX     \
	MOVQ 48(AX), CX       \
	MOVQ CX, bits-8(SP)   \
	MOVL $1, DX           \
	SHLQ CX, DX           \
	MOVQ DX, power-16(SP) \
	MOVQ 56(AX), DX       \
	MOVQ DX, center-24(SP) \
	MOVQ 64(AX), DX       \
	MOVQ DX, lower-40(SP) \
	MOVQ 72(AX), DX       \
	MOVQ DX, below-48(SP)

// GRADE makes the distance DX the number of its cell: see grading.cellOf. 0 is in CX.
#define GRADE \
	MOVQ    DX, R14           \
	ORQ     $1, R14           \
	BSRQ    R14, R14          \
	SUBQ    bits-8(SP), R14   \
	CMOVQCS CX, R14           \
	MOVQ    R14, CX           \
	SHRQ    CX, DX            \
	IMULQ   power-16(SP), R14 \
	ADDQ    R14, DX           \
	MOVQ    isBelow-32(SP), R14 \
	ANDQ    lower-40(SP), R14 \
	ADDQ    R14, DX

// PLAIN64 takes an element and finds its bucket, if buckets are plain. The shift is in CX as well.
#define PLAIN64 \
	MOVQ    (SI), AX                  \
	ADDQ    $8, SI                    \
	MOVQ    AX, BX                    \
	SUBQ    R10, BX                   \
	CMOVQCS R15, BX                   \
	SHRQ    CX, BX                    \
	CMPQ    BX, R11                   \
	CMOVQHI R11, BX

// FITTED64 does so if they are fitted, with cells of equal widths.
#define FITTED64 \
	MOVQ    (SI), AX                  \
	ADDQ    $8, SI                    \
	XORL    CX, CX                    \
	MOVQ    AX, BX                    \
	SUBQ    R10, BX                   \
	CMOVQCS CX, BX                    \
	CMPQ    BX, R11                   \
	CMOVQHI R11, BX                   \
	MOVQ    R13, CX                   \
	MOVQ    BX, DX                    \
	SHRQ    CX, DX                    \
	MOVQ    (R15)(DX*8), CX           \
	SHRQ    CX, BX                    \
	SHRQ    $32, CX                   \
	ADDL    CX, BX

// GRADED64 does so with cells that grow.
#define GRADED64 \
	MOVQ    (SI), AX                  \
	ADDQ    $8, SI                    \
	XORL    CX, CX                    \
	MOVQ    AX, BX                    \
	SUBQ    R10, BX                   \
	CMOVQCS CX, BX                    \
	CMPQ    BX, R11                   \
	CMOVQHI R11, BX                   \
	SUBQ    center-24(SP), BX         \
	SBBQ    R14, R14                  \
	XORQ    R14, BX                   \
	MOVQ    R14, isBelow-32(SP)       \
	MOVQ    R13, CX                   \
	MOVQ    BX, DX                    \
	SHRQ    CX, DX                    \
	XORL    CX, CX                    \
	GRADE                             \
	MOVQ    (R15)(DX*8), CX           \
	SHRQ    CX, BX                    \
	SHRQ    $32, CX                   \
	ADDL    CX, BX                    \
	XORL    isBelow-32(SP), BX        \
	ADDL    below-48(SP), BX

// BEGIN takes the arguments that all have, of elements of 1<<LOGBYTES bytes.
#define BEGIN(MOV, LOGBYTES) \
	MOVQ elems_base+0(FP), SI \
	MOVQ elems_len+8(FP), DI  \
	SHLQ LOGBYTES, DI         \
	ADDQ SI, DI               \
	MOVQ b+24(FP), AX         \
	MOV  0(AX), R10           \
	MOVQ 8(AX), R13           \
	MOV  16(AX), R11          \
	MOVQ 24(AX), R15          \
	MOVQ lines+32(FP), R8     \
	MOVQ at+40(FP), R9        \
	MOVQ pool+48(FP), R12     \
	CMPQ SI, DI               \
	JAE  end

// END is the end of the elements.
#define END(LOGBYTES, DONE, FULL) \
end: \
	SUBQ elems_base+0(FP), SI \
	SHRQ LOGBYTES, SI         \
	MOVQ SI, DONE             \
	MOVQ $-1, FULL            \
	RET

// FULLLINE writes the full line BX, of LINE words of 1<<LOGWORD bytes, to its block, to end before the word DX; or if that is
// full leaves the loop.
#define FULLLINE(LOGBYTES, LOGWORD, LINE, DONE, FULL) \
	SUBQ  LINE, DX              \
	MOVQ  blockMask+56(FP), R14 \
	TESTQ R14, DX               \
	JEQ   full                  \
	SHLQ  LOGWORD, DX           \
	ADDQ  R12, DX               \
	STREAM(0)                   \
	STREAM(64)                  \
	CMPQ  SI, DI                \
	JB    loop                  \
	JMP   end                   \
full: \
	SUBQ  elems_base+0(FP), SI  \
	SHRQ  LOGBYTES, SI          \
	MOVQ  SI, DONE              \
	SUBQ  R8, BX                \
	SHRQ  $7, BX                \
	MOVQ  BX, FULL              \
	RET
