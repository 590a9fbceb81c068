#include "textflag.h"

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
