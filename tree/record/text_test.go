package record

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFunctionsInWords(t *testing.T) {
	require.Equal(t, "exclusive or of uint8", FunctionName(Uint8|Xor))
	require.Equal(t, "function 0x70, which does not exist", FunctionName(0x70))
	require.Equal(t, "least place of float32", FunctionName(Float32|MinLoc))
	require.NoError(t, CheckFunction(Int64|Sum, 16))
	require.EqualError(t, CheckFunction(Float32|MinLoc, 8), "8 bytes are no whole number of places of float32, of 16 bytes each")
	require.EqualError(t, CheckFunction(Int64|Sum, 9), "9 bytes are no whole number of int64, of 8 bytes each")
	require.EqualError(t, CheckFunction(Float64|Xor, 8), "exclusive or of float64: bitwise functions are for integers")
	require.EqualError(t, CheckFunction(Sum, 8), "function 0x1, which does not exist")
	for fn := range 256 {
		require.Equal(t, ElementSize(uint8(fn)) == 0, CheckFunction(uint8(fn), 0) != nil, "%#x", fn)
	}
}

func TestFoldNumbers(t *testing.T) {
	require.Equal(t, "0-3,7", FoldNumbers([]int{0, 1, 2, 3, 7}))
	require.Equal(t, "5", FoldNumbers([]int{5}))
	var odd []int
	for i := range 20 {
		odd = append(odd, 2*i)
	}
	require.Equal(t, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30 and 4 more", FoldNumbers(odd))
}
