package main

import (
	"bytes"
	"fmt"
	"time"
)

// distribution is a named list of sorted times.
type distribution struct {
	name  string
	times []time.Duration
}

// draw returns a picture of cumulative distributions as SVG: the share of the times up to each time.
func draw(all []distribution) []byte {
	const width, height, left, top, line = 720, 360, 50, 20, 18
	colours := []string{"#c0392b", "#2471a3", "#1e8449"}
	most := time.Second
	for _, d := range all {
		most = max(most, d.times[len(d.times)-1])
	}
	seconds := int((most + time.Second - 1) / time.Second)
	x := func(t time.Duration) float64 { return left + float64(t)/float64(time.Second)/float64(seconds)*width }
	y := func(share float64) float64 { return top + (1-share)*height }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", left+width+30, top+height+40)
	fmt.Fprint(&b, `<rect width="100%" height="100%" fill="white"/>`+"\n")
	for s := range 2*seconds + 1 {
		at := x(time.Duration(s) * time.Second / 2)
		fmt.Fprintf(&b, `<path d="M%.1f %d V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%.1f s</text>`+"\n", at, top, top+height, at, top+height+16, float64(s)/2)
	}
	for i := range 5 {
		at := y(float64(i) / 4)
		fmt.Fprintf(&b, `<path d="M%d %.1f H%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%d %%</text>`+"\n", left, at, left+width, left-6, at+4, 25*i)
	}
	for i, d := range all {
		colour := colours[i%len(colours)]
		fmt.Fprintf(&b, `<path fill="none" stroke="%s" stroke-width="2" d="M%.1f %.1f`, colour, x(0), y(0))
		for k, t := range d.times {
			fmt.Fprintf(&b, " H%.1f V%.1f", x(t), y(float64(k+1)/float64(len(d.times))))
		}
		fmt.Fprintf(&b, `"/><text x="%d" y="%d" text-anchor="end" fill="%s">%s</text>`+"\n", left+width-10, top+height-12-line*(len(all)-1-i), colour, d.name)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">longest time without a commit</text></svg>`+"\n", left+width/2, top+height+34)
	return b.Bytes()
}
