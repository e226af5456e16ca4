package record

import (
	"fmt"
	"strconv"
	"strings"
)

var typeNames = [...]string{"?", "int32", "int64", "uint64", "float32", "float64", "uint8"}
var functionNames = [...]string{"?", "sum", "product", "minimum", "maximum", "and", "or", "exclusive or", "least place", "greatest place"}

// FunctionName returns a Fold function in words, such as "sum of int64".
func FunctionName(fn uint8) string {
	t, f := int(fn>>4), int(fn&0x0f)
	if t == 0 || t >= len(typeNames) || f == 0 || f >= len(functionNames) {
		return fmt.Sprintf("function %#x, which does not exist", fn)
	}
	return functionNames[f] + " of " + typeNames[t]
}

// CheckFunction reports an error if fn cannot combine so many bytes.
func CheckFunction(fn uint8, size int64) error {
	name := FunctionName(fn)
	_, elements, _ := strings.Cut(name, " of ")
	if Locates(fn) {
		elements = "places of " + elements
	}
	switch e := int64(ElementSize(fn)); {
	case e == 0 && int(fn>>4) < len(typeNames) && fn>>4 > 0 && fn&0x0f >= And && fn&0x0f <= Xor:
		return fmt.Errorf("%s: bitwise functions are for integers", name)
	case e == 0:
		return fmt.Errorf("%s", name)
	case size%e != 0:
		return fmt.Errorf("%d bytes are no whole number of %s, of %d bytes each", size, elements, e)
	}
	return nil
}

// mostRuns bounds the runs of numbers that a text names.
const mostRuns = 16

// FoldNumbers writes ascending numbers as runs, such as "0-3,7"; of many runs the
// first, and how many numbers are not named.
func FoldNumbers(list []int) string {
	var b strings.Builder
	for runs := 0; len(list) > 0; runs++ {
		if runs == mostRuns {
			fmt.Fprintf(&b, " and %d more", len(list))
			break
		}
		n := 1
		for n < len(list) && list[n] == list[0]+n {
			n++
		}
		if runs > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(list[0]))
		if n > 1 {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(list[n-1]))
		}
		list = list[n:]
	}
	return b.String()
}
