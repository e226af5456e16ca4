package scale

import (
	"fmt"
	"math"
)

// law is time as a function of the number of nodes: A + B·log2 n + C·n,
// milliseconds.
type law struct {
	a, b, c float64
	off     float64 // largest error at a point, as a part of it
}

// lawOf fits a law to points, by the least squares of relative errors.
func lawOf(nodes []int, times []float64) law {
	var m [3][4]float64 // normal equations
	row := func(n int) [3]float64 { return [3]float64{1, math.Log2(float64(n)), float64(n)} }
	for i, n := range nodes {
		x := row(n)
		for j := range 3 {
			for k := range 3 {
				m[j][k] += x[j] * x[k] / (times[i] * times[i])
			}
			m[j][3] += x[j] / times[i]
		}
	}
	for j := range 3 { // Gauss and Jordan
		pivot := j
		for r := j + 1; r < 3; r++ {
			if math.Abs(m[r][j]) > math.Abs(m[pivot][j]) {
				pivot = r
			}
		}
		m[j], m[pivot] = m[pivot], m[j]
		for r := range 3 {
			if r != j {
				f := m[r][j] / m[j][j]
				for k := j; k < 4; k++ {
					m[r][k] -= f * m[j][k]
				}
			}
		}
	}
	l := law{a: m[0][3] / m[0][0], b: m[1][3] / m[1][1], c: m[2][3] / m[2][2]}
	for i, n := range nodes {
		l.off = max(l.off, math.Abs(l.at(n)/times[i]-1))
	}
	return l
}

// at returns the law's time for n nodes.
func (l law) at(n int) float64 {
	logs, line := l.parts(n)
	return l.a + logs + line
}

// parts returns the logarithmic and the linear part at n nodes.
func (l law) parts(n int) (logs, line float64) {
	return l.b * math.Log2(float64(n)), l.c * float64(n)
}

func (l law) String() string {
	return fmt.Sprintf("%.0f + %.1f·log2 n + %.4f·n, within %.0f %%", l.a, l.b, l.c, math.Ceil(100*l.off))
}
