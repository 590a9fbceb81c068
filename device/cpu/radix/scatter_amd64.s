#include "textflag.h"

// The inner loops of distribute. See scatter_amd64.go. Only the instructions that every amd64 has are
// used. Registers:
//
//	SI  end of the elements   DI  end of their numbers
//	CX  the element in work, counted from the end: less than 0
//	R8  lines                 R9  next
//	R10 to                    R12 elements of the pool
//	R13 elements in a line-1  R15 the first element that does not ask, as CX
//	BX  number of the bucket  DX  its next, then that after it

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

// BEGIN takes the arguments, of elements of 1<<LOGBYTES bytes.
#define BEGIN(LOGBYTES) \
	MOVQ elems_len+8(FP), CX    \
	MOVQ CX, SI                 \
	SHLQ LOGBYTES, SI           \
	ADDQ elems_base+0(FP), SI   \
	MOVQ numbers+24(FP), DI     \
	LEAQ (DI)(CX*4), DI         \
	NEGQ CX                     \
	MOVQ c+32(FP), AX           \
	MOVQ 0(AX), R8              \
	MOVQ 24(AX), R9             \
	MOVQ 48(AX), R10            \
	MOVQ 72(AX), R12            \
	MOVQ 104(AX), R13           \
	MOVQ ·unprefetched(SB), R15      \
	NEGQ R15                    \
	CMPQ CX, R15                \
	JGE  loop

// ASK asks for the line that the element 16 places further on will go to.
#define ASK(BYTES) \
	MOVL       64(DI)(CX*4), R14 \
	MOVL       (R9)(R14*8), R14  \
	PREFETCHT0 (R8)(R14*BYTES)

#define ASK128 \
	MOVL       64(DI)(CX*4), R14 \
	MOVL       (R9)(R14*8), R14  \
	SHLQ       $4, R14           \
	PREFETCHT0 (R8)(R14*1)

// PUT takes an element and appends it to the line of its bucket. AX is for its use.
#define PUT(MOV, BYTES) \
	MOV (SI)(CX*BYTES), AX \
	MOV AX, (R8)(DX*BYTES)

#define PUT128 \
	MOVQ  CX, AX          \
	SHLQ  $4, AX          \
	MOVOU (SI)(AX*1), X0  \
	MOVQ  DX, AX          \
	SHLQ  $4, AX          \
	MOVO  X0, (R8)(AX*1)

// APPEND puts an element where next says, and leaves the loop if that fills a line.
#define APPEND(PUTS) \
	MOVL  (DI)(CX*4), BX   \
	MOVQ  (R9)(BX*8), DX   \
	PUTS                   \
	INCQ  DX               \
	MOVQ  DX, (R9)(BX*8)   \
	TESTL R13, DX          \
	JEQ   full

// COUNT does what APPEND does, but if the element is the bucket's majority one, the next one will be put in its place,
// and next counts it, from bit 36 on: see countShift. A line is full if a bit of next above those in R13 changes.
#define COUNT(MOV, CMP, BYTES) \
	MOVL    (DI)(CX*4), BX         \
	MOVQ    (R9)(BX*8), DX         \
	MOV     (SI)(CX*BYTES), AX     \
	MOVL    DX, R14                \
	MOV     AX, (R8)(R14*BYTES)    \
	MOVQ    majority+40(FP), R11   \
	LEAQ    1(DX), R14             \
	CMP     AX, (R11)(BX*BYTES)    \
	MOVQ    $0x1000000000, R11     \
	LEAQ    (DX)(R11*1), R11       \
	CMOVQEQ R11, R14               \
	MOVQ    R14, (R9)(BX*8)        \
	XORQ    R14, DX                \
	CMPL    DX, R13                \
	MOVQ    R14, DX                \
	JHI     full

// LOOPS does STEP with all elements, and ASKS before where that pays. It empties full lines and writes them to the
// pool, or leaves with the bucket of one that has no room in its block.
#define LOOPS(ASKS, STEP, LOGBYTES, DONE, FULL) \
asking: \
	ASKS                          \
	STEP                          \
	INCQ  CX                      \
	CMPQ  CX, R15                 \
	JLT   asking                  \
	TESTQ CX, CX                  \
	JEQ   end                     \
loop: \
	STEP                          \
	INCQ  CX                      \
	JNE   loop                    \
end: \
	MOVQ  elems_len+8(FP), AX     \
	MOVQ  AX, DONE                \
	MOVQ  $-1, FULL               \
	RET                           \
full: \
	INCQ  CX                      \
	SUBQ  R13, DX                 \
	DECQ  DX                      \
	MOVQ  DX, (R9)(BX*8)          \
	MOVQ  (R10)(BX*8), R11        \
	MOVQ  c+32(FP), AX            \
	TESTQ R11, 96(AX)             \
	JEQ   noRoom                  \
	LEAQ  1(R11)(R13*1), AX       \
	MOVQ  AX, (R10)(BX*8)         \
	MOVL  DX, BX                  \
	SHLQ  LOGBYTES, BX            \
	ADDQ  R8, BX                  \
	SHLQ  LOGBYTES, R11           \
	LEAQ  (R12)(R11*1), DX        \
	LEAQ  1(R13), AX              \
	SHLQ  LOGBYTES, AX            \
	ADDQ  BX, AX                  \
stream: \
	STREAM(0)                     \
	STREAM(64)                    \
	SUBQ  $-128, BX               \
	SUBQ  $-128, DX               \
	CMPQ  BX, AX                  \
	JLO   stream                  \
	CMPQ  CX, R15                 \
	JLT   asking                  \
	TESTQ CX, CX                  \
	JNE   loop                    \
	JMP   end                     \
noRoom: \
	ADDQ  elems_len+8(FP), CX     \
	MOVQ  CX, DONE                \
	MOVQ  BX, FULL                \
	RET

// func put32(elems []uint32, numbers *uint32, c *combiner[uint32]) (done, full int)
TEXT ·put32(SB), NOSPLIT, $0-56
	BEGIN($2)
	LOOPS(ASK(4), APPEND(PUT(MOVL, 4)), $2, done+40(FP), full+48(FP))

// func put64(elems []uint64, numbers *uint32, c *combiner[uint64]) (done, full int)
TEXT ·put64(SB), NOSPLIT, $0-56
	BEGIN($3)
	LOOPS(ASK(8), APPEND(PUT(MOVQ, 8)), $3, done+40(FP), full+48(FP))

// func put128(elems [][2]uint64, numbers *uint32, c *combiner[[2]uint64]) (done, full int)
TEXT ·put128(SB), NOSPLIT, $0-56
	BEGIN($4)
	LOOPS(ASK128, APPEND(PUT128), $4, done+40(FP), full+48(FP))

// func putCounted32(elems []uint32, numbers *uint32, c *combiner[uint32], majority *uint32) (done, full int)
TEXT ·putCounted32(SB), NOSPLIT, $0-64
	BEGIN($2)
	LOOPS(ASK(4), COUNT(MOVL, CMPL, 4), $2, done+48(FP), full+56(FP))

// func putCounted64(elems []uint64, numbers *uint32, c *combiner[uint64], majority *uint64) (done, full int)
TEXT ·putCounted64(SB), NOSPLIT, $0-64
	BEGIN($3)
	LOOPS(ASK(8), COUNT(MOVQ, CMPQ, 8), $3, done+48(FP), full+56(FP))

// func StoreFence()
TEXT ·StoreFence(SB), NOSPLIT, $0-0
	SFENCE
	RET
