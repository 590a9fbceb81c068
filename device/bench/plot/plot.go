// Package plot draws the results of package bench as SVG. It draws one panel for each kind of key
// and distribution, and one line for each algorithm: keys per second against the number of keys,
// on logarithmic axes.
//
// Only the root package of this module is stable: this package may change in any version.
package plot

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/device/bench"
)

// The size of a panel and its margins in pixels. The legend is in the right margin.
const (
	width, height            = 720.0, 440.0
	left, right, top, bottom = 72.0, 168.0, 40.0, 48.0
	columns                  = 2
)

// ErrNothing means that no result has a rate.
var ErrNothing = errors.New("plot: nothing was measured")

// WriteSVG draws a report.
func WriteSVG(w io.Writer, r bench.Report) error {
	panels := panelsOf(r.Results)
	if len(panels) == 0 {
		return ErrNothing
	}
	cols := min(columns, len(panels))
	rows := (len(panels) + cols - 1) / cols
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v"
 font-family="sans-serif" font-size="12">
<rect width="100%%" height="100%%" fill="white"/>
`, width*float64(cols), height*float64(rows)) // with a background, because text is invisible on dark pages
	for i, results := range panels {
		fmt.Fprintf(
			&b,
			"<g transform=\"translate(%v,%v)\">\n",
			width*float64(i%cols),
			height*float64(i/cols),
		)
		drawPanel(
			&b,
			fmt.Sprintf(
				"%s: %s, %s", r.Device, results[0].Key, results[0].Dist,
			),
			results,
		)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	_, err := b.WriteTo(w)
	return err
}

// panelsOf groups the results that have a rate by kind of key and distribution.
func panelsOf(results []bench.Result) (panels [][]bench.Result) {
	for _, r := range results {
		if r.Rate == 0 {
			continue
		}
		at := slices.IndexFunc(panels, func(p []bench.Result) bool {
			return p[0].Key == r.Key && p[0].Dist == r.Dist
		})
		if at < 0 {
			at = len(panels)
			panels = append(panels, nil)
		}
		panels[at] = append(panels[at], r)
	}
	return panels
}

// The colours are distinguishable by colour-blind readers (Okabe and Ito). The marks at the
// points help in print.
var (
	colours = strings.Fields(
		"#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #000000 #999933 #a00030 #808080",
	)
	marks = []string{
		"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "m-3 -3h6v6h-6z", "m0 -4l4 7h-8z", "m0 -4l4 4l-4 4l-4 -4z",
		"m-3 -3l6 6m0 -6l-6 6", "m-4 0h8m-4 -4v8", "m0 4l4 -7h-8z", "m-4 -3h8v6h-8z",
	}
)

// drawPanel draws the axes, and the line and legend of each label.
func drawPanel(b *bytes.Buffer, title string, results []bench.Result) {
	x, y := axesOf(results)
	text(b, width/2, 22, "middle", title)
	text(b, left+(width-left-right)/2, height-10, "middle", "keys")
	text(b, 8, top-10, "start", "keys per second")
	drawGrid(b, x, y)
	var labels []string
	lines := map[string][]string{}
	for _, r := range results {
		if lines[r.Label] == nil {
			labels = append(labels, r.Label)
		}
		point := fmt.Sprintf(
			"%.1f %.1f",
			x.at(math.Log2(float64(r.Records))),
			y.at(math.Log10(r.Rate)),
		)
		lines[r.Label] = append(lines[r.Label], point)
	}
	for i, label := range labels {
		colour := colours[i%len(colours)]
		mark := marks[i%len(marks)]
		dashes := ""
		if i >= len(marks) { // marks repeat
			dashes = ` stroke-dasharray="4 2"`
		}
		legend := top + 16*float64(i)
		fmt.Fprintf(
			b,
			"<path d=\"M%s\" fill=\"none\" stroke=%q%s/>\n",
			strings.Join(lines[label], "L"),
			colour,
			dashes,
		)
		fmt.Fprintf(
			b,
			"<path d=\"M%s%s\" fill=%q stroke=%q/>\n",
			strings.Join(lines[label], mark+"M"),
			mark,
			colour,
			colour,
		)
		fmt.Fprintf(
			b,
			"<path d=\"M%v %v%s\" fill=%q stroke=%q/>\n",
			width-right+16,
			legend-4,
			mark,
			colour,
			colour,
		)
		text(b, width-right+26, legend, "start", label)
	}
}

// An axis maps logarithms in [least, most] to pixels.
type axis struct{ least, most, from, to float64 }

func (a axis) at(v float64) float64 {
	return a.from + (v-a.least)/(a.most-a.least)*(a.to-a.from)
}

// axesOf returns the axes for the results, with room at the sides. The axis of rates spans whole
// powers of ten.
func axesOf(results []bench.Result) (x, y axis) {
	x = axis{math.Inf(1), math.Inf(-1), left, width - right}
	y = axis{math.Inf(1), math.Inf(-1), height - bottom, top}
	for _, r := range results {
		size := math.Log2(float64(r.Records))
		rate := math.Log10(r.Rate)
		x.least = min(x.least, size-0.5)
		x.most = max(x.most, size+0.5)
		y.least, y.most = min(
			y.least, math.Floor(rate),
		), max(y.most, math.Ceil(rate+0.02))
	}
	return x, y
}

// drawGrid draws and labels at most eleven powers of two of keys, and every power of ten of the
// rate.
func drawGrid(b *bytes.Buffer, x, y axis) {
	from := math.Ceil(x.least)
	to := math.Floor(x.most)
	for power := from; power <= to; power += 1 + math.Floor((to-from)/11) {
		gridLine(b, x.at(power), y.from, x.at(power), y.to)
		text(b, x.at(power), y.from+18, "middle", fmt.Sprintf("2^%v", power))
	}
	for power := y.least; power <= y.most; power++ {
		gridLine(b, x.from, y.at(power), x.to, y.at(power))
		// 10k, 1M.
		short := strings.ReplaceAll(
			humanize.SIWithDigits(math.Pow(10, power), 0, ""),
			" ",
			"",
		)
		text(b, x.from-6, y.at(power)+4, "end", short)
	}
	fmt.Fprintf(
		b,
		"<path d=\"M%v %vV%vH%v\" fill=\"none\" stroke=\"black\"/>\n",
		x.from,
		y.to,
		y.from,
		x.to,
	)
}

func gridLine(b *bytes.Buffer, x1, y1, x2, y2 float64) {
	fmt.Fprintf(
		b,
		"<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#e1e1e1\"/>\n",
		x1,
		y1,
		x2,
		y2,
	)
}

func text(b *bytes.Buffer, x, y float64, anchor, s string) {
	fmt.Fprintf(
		b,
		"<text x=\"%.1f\" y=\"%.1f\" text-anchor=%q>%s</text>\n",
		x,
		y,
		anchor,
		html.EscapeString(s),
	)
}
