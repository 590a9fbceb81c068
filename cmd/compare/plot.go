package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
)

// The layout in pixels. Bars start at labelRoom, to the right of their labels.
const (
	plotWidth   = 760.0
	labelRoom   = 210.0
	barRoom     = plotWidth - labelRoom - 60 // the rest is for the figures
	barPitch    = 24.0                       // distance between bars
	barHeight   = 16.0
	titleRoom   = 40.0
	axisRoom    = 48.0
	minGridStep = 50.0
)

// The colours are distinguishable by colour-blind readers (Okabe and Ito).
var colours = map[kind]string{
	own:       "#0072B2",
	yardstick: "#999",
	peer:      "#E69F00",
}

// writeSVG draws a panel of bars for each workload: the rate at which each contender sorts data,
// by its median. It shows rates instead of times, so that a contender that takes a hundred times
// as long does not make the others invisible.
func (r *report) writeSVG(w io.Writer) error {
	var panels bytes.Buffer
	top := 0.0
	for _, s := range r.Workloads {
		done := s.finished()
		if len(done) > 0 {
			fmt.Fprintf(&panels, "<g transform=\"translate(0,%v)\">\n", top)
			top += s.drawPanel(&panels, done)
			panels.WriteString("</g>\n")
		}
	}
	if top == 0 {
		return errors.New("plot: nothing was measured")
	}
	_, err := fmt.Fprintf(
		w,
		`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" font-family="sans-serif" `+
			"font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
		plotWidth,
		top,
		&panels,
	)
	return err
}

// finished returns the results to draw.
func (s *section) finished() []result {
	var done []result
	for _, r := range s.Results {
		if r.Failed == "" {
			done = append(done, r)
		}
	}
	return done
}

// drawPanel draws a workload and returns the height of the panel.
func (s *section) drawPanel(b *bytes.Buffer, done []result) float64 {
	fastest := 0.0
	for _, r := range done {
		fastest = max(fastest, s.rate(r.Summary.Min))
	}
	scale := barRoom / fastest
	bottom := titleRoom + barPitch*float64(len(done))
	drawText(
		b, plotWidth/2, 22, "middle", fmt.Sprintf("%s (%s)", s.Title, s.Size),
	)
	step := gridStep(minGridStep / scale)
	for at := 0.0; at <= fastest; at += step {
		x := labelRoom + at*scale
		fmt.Fprintf(
			b,
			"<path d=\"M%.1f %vV%v\" stroke=\"#ddd\"/>\n",
			x,
			titleRoom,
			bottom,
		)
		drawText(b, x, bottom+16, "middle", fmt.Sprintf("%.4g", at))
	}
	drawText(b, labelRoom+barRoom/2, bottom+34, "middle",
		"GB/s; the thin line reaches from the slowest run to the fastest")
	for i, r := range done {
		s.drawBar(b, r, titleRoom+barPitch*(float64(i)+0.5), scale)
	}
	return bottom + axisRoom
}

// rate returns the GB per second for a sort of the workload that takes this long.
func (s *section) rate(seconds float64) float64 {
	return ratio(float64(s.Bytes), seconds) / 1e9
}

// gridStep returns a round number that is at least the given one.
func gridStep(least float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(least)))
	for _, times := range []float64{1, 2, 5} {
		if times*unit >= least {
			return times * unit
		}
	}
	return 10 * unit
}

// drawBar draws one result in the colour of its kind, with the range of its runs and its figure.
func (s *section) drawBar(b *bytes.Buffer, r result, middle, scale float64) {
	slowest := labelRoom + s.rate(r.Summary.Max)*scale
	fastest := labelRoom + s.rate(r.Summary.Min)*scale
	drawText(b, labelRoom-8, middle+4, "end", contender{
		name:   r.Name,
		memory: r.Memory,
	}.label())
	fmt.Fprintf(b, "<rect x=\"%v\" y=\"%v\" width=\"%.1f\" height=\"%v\" fill=\"%s\"/>\n",
		labelRoom, middle-barHeight/2, r.Rate/1e9*scale, barHeight, colours[r.Kind])
	fmt.Fprintf(
		b,
		"<path d=\"M%.1f %vH%.1f\" stroke=\"black\"/>\n",
		slowest,
		middle,
		fastest,
	)
	drawText(b, fastest+6, middle+4, "start", fmt.Sprintf("%.2f", r.Rate/1e9))
}

func drawText(b *bytes.Buffer, x, y float64, anchor, text string) {
	fmt.Fprintf(
		b,
		"<text x=\"%.1f\" y=\"%v\" text-anchor=\"%s\">%s</text>\n",
		x,
		y,
		anchor,
		html.EscapeString(text),
	)
}
