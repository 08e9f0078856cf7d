#include "textflag.h"

// A pass of a loop takes 32 codes of q at DI and as many of each of four vectors at R8 to R11, widens them to 16 bits, and adds the products of
// neighbours to the sums of each vector.

#define ARGUMENTS \
	MOVQ q+0(FP), DI; \
	MOVQ n+8(FP), CX; \
	MOVQ x+16(FP), AX; \
	MOVQ out+24(FP), DX; \
	MOVQ (AX), R8; \
	MOVQ 8(AX), R9; \
	MOVQ 16(AX), R10; \
	MOVQ 24(AX), R11

// Clearing the lower half of a register clears the upper one.
#define CLEAR \
	VPXOR X0, X0, X0; \
	VPXOR X1, X1, X1; \
	VPXOR X2, X2, X2; \
	VPXOR X3, X3, X3

#define NEXT \
	ADDQ $32, DI; \
	ADDQ $32, R8; \
	ADDQ $32, R9; \
	ADDQ $32, R10; \
	ADDQ $32, R11; \
	SUBQ $32, CX

#define MULTIPLY(from, q, scratch, sum) \
	VPMOVSXBW from, scratch; \
	VPMADDWD q, scratch, scratch; \
	VPADDD scratch, sum, sum

// TOTAL256 adds up the sums of Y0 to Y3 and stores them.
#define TOTAL256 \
	VPHADDD Y1, Y0, Y0; \
	VPHADDD Y3, Y2, Y2; \
	VPHADDD Y2, Y0, Y0; \
	VEXTRACTI128 $1, Y0, X1; \
	VPADDD X1, X0, X0; \
	VMOVDQU X0, (DX); \
	VZEROUPPER; \
	RET

#define HALF512(z, y, scratch) \
	VEXTRACTI64X4 $1, z, scratch; \
	VPADDD scratch, y, y

// func dotCodesAVX2(q *int8, n int, x *FourCodes, out *[4]int32)
TEXT ·dotCodesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR

dotCodesAVX2Loop:
	VPMOVSXBW (DI), Y8
	VPMOVSXBW 16(DI), Y9
	MULTIPLY((R8), Y8, Y10, Y0)
	MULTIPLY((R9), Y8, Y11, Y1)
	MULTIPLY((R10), Y8, Y12, Y2)
	MULTIPLY((R11), Y8, Y13, Y3)
	MULTIPLY(16(R8), Y9, Y10, Y0)
	MULTIPLY(16(R9), Y9, Y11, Y1)
	MULTIPLY(16(R10), Y9, Y12, Y2)
	MULTIPLY(16(R11), Y9, Y13, Y3)
	NEXT
	JNE dotCodesAVX2Loop
	TOTAL256

// func dotCodesAVX512(q *int8, n int, x *FourCodes, out *[4]int32)
TEXT ·dotCodesAVX512(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR

dotCodesAVX512Loop:
	VPMOVSXBW (DI), Z8
	MULTIPLY((R8), Z8, Z10, Z0)
	MULTIPLY((R9), Z8, Z11, Z1)
	MULTIPLY((R10), Z8, Z12, Z2)
	MULTIPLY((R11), Z8, Z13, Z3)
	NEXT
	JNE dotCodesAVX512Loop
	HALF512(Z0, Y0, Y4)
	HALF512(Z1, Y1, Y5)
	HALF512(Z2, Y2, Y6)
	HALF512(Z3, Y3, Y7)
	TOTAL256
