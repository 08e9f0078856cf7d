#include "textflag.h"

// A pass of a loop takes 32 coordinates of q at DI and as many of each of four vectors at R8 to R11, and adds to two sums a vector: 0 to 3
// for the first half of the lanes, 4 to 7 for the second.

#define ARGUMENTS \
	MOVQ q+0(FP), DI; \
	MOVQ n+8(FP), CX; \
	MOVQ x+16(FP), AX; \
	MOVQ out+24(FP), DX; \
	MOVQ (AX), R8; \
	MOVQ 8(AX), R9; \
	MOVQ 16(AX), R10; \
	MOVQ 24(AX), R11

#define CLEAR256 \
	VXORPS Y0, Y0, Y0; \
	VXORPS Y1, Y1, Y1; \
	VXORPS Y2, Y2, Y2; \
	VXORPS Y3, Y3, Y3; \
	VXORPS Y4, Y4, Y4; \
	VXORPS Y5, Y5, Y5; \
	VXORPS Y6, Y6, Y6; \
	VXORPS Y7, Y7, Y7

// Clearing the lower half of a register clears the upper one.
#define CLEAR512 CLEAR256

#define NEXT \
	ADDQ $128, DI; \
	ADDQ $128, R8; \
	ADDQ $128, R9; \
	ADDQ $128, R10; \
	ADDQ $128, R11; \
	SUBQ $32, CX

// TOTAL128 adds up the four sums of X0 to X3 and stores them.
#define TOTAL128 \
	VHADDPS X1, X0, X0; \
	VHADDPS X3, X2, X2; \
	VHADDPS X2, X0, X0; \
	VMOVUPS X0, (DX); \
	VZEROUPPER; \
	RET

#define HALF256(y, x, scratch) \
	VEXTRACTF128 $1, y, scratch; \
	VADDPS scratch, x, x

#define TOTAL256 \
	VADDPS Y4, Y0, Y0; \
	VADDPS Y5, Y1, Y1; \
	VADDPS Y6, Y2, Y2; \
	VADDPS Y7, Y3, Y3; \
	HALF256(Y0, X0, X4); \
	HALF256(Y1, X1, X5); \
	HALF256(Y2, X2, X6); \
	HALF256(Y3, X3, X7); \
	TOTAL128

#define HALF512(z, y, scratch) \
	VEXTRACTF64X4 $1, z, scratch; \
	VADDPS scratch, y, y

#define TOTAL512 \
	VADDPS Z4, Z0, Z0; \
	VADDPS Z5, Z1, Z1; \
	VADDPS Z6, Z2, Z2; \
	VADDPS Z7, Z3, Z3; \
	HALF512(Z0, Y0, Y4); \
	HALF512(Z1, Y1, Y5); \
	HALF512(Z2, Y2, Y6); \
	HALF512(Z3, Y3, Y7); \
	HALF256(Y0, X0, X4); \
	HALF256(Y1, X1, X5); \
	HALF256(Y2, X2, X6); \
	HALF256(Y3, X3, X7); \
	TOTAL128

#define SQUARE(from, q, scratch, sum) \
	VSUBPS from, q, scratch; \
	VFMADD231PS scratch, scratch, sum

// func dotsAVX2(q *float32, n int, x *Four, out *[4]float32)
TEXT ·dotsAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR256

dotsAVX2Loop:
	VMOVUPS (DI), Y8
	VMOVUPS 32(DI), Y9
	VFMADD231PS (R8), Y8, Y0
	VFMADD231PS (R9), Y8, Y1
	VFMADD231PS (R10), Y8, Y2
	VFMADD231PS (R11), Y8, Y3
	VFMADD231PS 32(R8), Y9, Y4
	VFMADD231PS 32(R9), Y9, Y5
	VFMADD231PS 32(R10), Y9, Y6
	VFMADD231PS 32(R11), Y9, Y7
	VMOVUPS 64(DI), Y8
	VMOVUPS 96(DI), Y9
	VFMADD231PS 64(R8), Y8, Y0
	VFMADD231PS 64(R9), Y8, Y1
	VFMADD231PS 64(R10), Y8, Y2
	VFMADD231PS 64(R11), Y8, Y3
	VFMADD231PS 96(R8), Y9, Y4
	VFMADD231PS 96(R9), Y9, Y5
	VFMADD231PS 96(R10), Y9, Y6
	VFMADD231PS 96(R11), Y9, Y7
	NEXT
	JNE dotsAVX2Loop
	TOTAL256

// func dotsAVX512(q *float32, n int, x *Four, out *[4]float32)
TEXT ·dotsAVX512(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR512

dotsAVX512Loop:
	VMOVUPS (DI), Z8
	VMOVUPS 64(DI), Z9
	VFMADD231PS (R8), Z8, Z0
	VFMADD231PS (R9), Z8, Z1
	VFMADD231PS (R10), Z8, Z2
	VFMADD231PS (R11), Z8, Z3
	VFMADD231PS 64(R8), Z9, Z4
	VFMADD231PS 64(R9), Z9, Z5
	VFMADD231PS 64(R10), Z9, Z6
	VFMADD231PS 64(R11), Z9, Z7
	NEXT
	JNE dotsAVX512Loop
	TOTAL512

// func squareDistancesAVX2(q *float32, n int, x *Four, out *[4]float32)
TEXT ·squareDistancesAVX2(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR256

squareDistancesAVX2Loop:
	VMOVUPS (DI), Y8
	VMOVUPS 32(DI), Y9
	SQUARE((R8), Y8, Y10, Y0)
	SQUARE((R9), Y8, Y11, Y1)
	SQUARE((R10), Y8, Y12, Y2)
	SQUARE((R11), Y8, Y13, Y3)
	SQUARE(32(R8), Y9, Y10, Y4)
	SQUARE(32(R9), Y9, Y11, Y5)
	SQUARE(32(R10), Y9, Y12, Y6)
	SQUARE(32(R11), Y9, Y13, Y7)
	VMOVUPS 64(DI), Y8
	VMOVUPS 96(DI), Y9
	SQUARE(64(R8), Y8, Y10, Y0)
	SQUARE(64(R9), Y8, Y11, Y1)
	SQUARE(64(R10), Y8, Y12, Y2)
	SQUARE(64(R11), Y8, Y13, Y3)
	SQUARE(96(R8), Y9, Y10, Y4)
	SQUARE(96(R9), Y9, Y11, Y5)
	SQUARE(96(R10), Y9, Y12, Y6)
	SQUARE(96(R11), Y9, Y13, Y7)
	NEXT
	JNE squareDistancesAVX2Loop
	TOTAL256

// func squareDistancesAVX512(q *float32, n int, x *Four, out *[4]float32)
TEXT ·squareDistancesAVX512(SB), NOSPLIT, $0-32
	ARGUMENTS
	CLEAR512

squareDistancesAVX512Loop:
	VMOVUPS (DI), Z8
	VMOVUPS 64(DI), Z9
	SQUARE((R8), Z8, Z10, Z0)
	SQUARE((R9), Z8, Z11, Z1)
	SQUARE((R10), Z8, Z12, Z2)
	SQUARE((R11), Z8, Z13, Z3)
	SQUARE(64(R8), Z9, Z10, Z4)
	SQUARE(64(R9), Z9, Z11, Z5)
	SQUARE(64(R10), Z9, Z12, Z6)
	SQUARE(64(R11), Z9, Z13, Z7)
	NEXT
	JNE squareDistancesAVX512Loop
	TOTAL512
