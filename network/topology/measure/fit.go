package measure

import (
	"errors"
	"math"
)

// Line is the time of a message as latency + size / bandwidth.
type Line struct {
	Latency float64 `json:"latency_us"` // microseconds
	// Bandwidth is in MB/s, 10^6 bytes; 0, and not in JSON, if the time does not grow
	// with the size.
	Bandwidth float64 `json:"bandwidth_mb_per_s,omitzero"`
	// R2 is the share of the variance of times that the line explains, each time
	// with its weight; 1 is all.
	R2 float64 `json:"r2"`
}

// At returns the time of a message of size bytes, in microseconds.
func (l Line) At(size int64) float64 {
	if l.Bandwidth == 0 {
		return l.Latency
	}
	return l.Latency + float64(size)/l.Bandwidth
}

// Fit returns the line by least squares of the relative errors, so that times of small
// messages, which tell the latency, count as those of large ones, which tell the
// bandwidth. Neither is below 0: where the best line has one that is, it is the best
// without it. Nor is there a bandwidth where the growth with the size is less than two
// of its standard errors: it is then no more than the times differ by chance. The
// error says that there are not two sizes.
func Fit(samples []Sample) (Line, error) {
	var sum, sumS, sumT float64 // of weights, and weighted
	one := true
	for _, s := range samples {
		w := 1 / (s.Time * s.Time)
		sum, sumS, sumT = sum+w, sumS+w*float64(s.Size), sumT+w*s.Time
		one = one && s.Size == samples[0].Size
	}
	if one {
		return Line{}, errors.New("messages of one size only: a line needs two sizes or more")
	}
	meanS, meanT := sumS/sum, sumT/sum
	var varS, varT, both, squares, products float64
	for _, s := range samples {
		w, size := 1/(s.Time*s.Time), float64(s.Size)
		varS += w * (size - meanS) * (size - meanS)
		varT += w * (s.Time - meanT) * (s.Time - meanT)
		both += w * (size - meanS) * (s.Time - meanT)
		squares += w * size * size
		products += w * size * s.Time
	}
	slope := both / varS
	l := Line{Latency: meanT - slope*meanS}
	switch {
	case slope <= 0, len(samples) > 2 && slope*slope*varS*float64(len(samples)-2) < 4*(varT-slope*both):
		slope, l.Latency = 0, meanT
	case l.Latency < 0:
		slope, l.Latency = products/squares, 0
	}
	if slope > 0 {
		l.Bandwidth = 1 / slope
	}
	var off float64
	for _, s := range samples {
		r := (s.Time - l.At(s.Size)) / s.Time
		off += r * r
	}
	if l.R2 = 1; varT > 0 {
		l.R2 = math.Max(0, 1-off/varT)
	}
	return l, nil
}
