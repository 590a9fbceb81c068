// Package plot draws results of package bench: keys per second against the number of keys, both by logarithm, a line for
// each algorithm, a panel for each kind of key and distribution. It is a package of its own so that only the command
// carries the drawing library.
package plot

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
)

const (
	panelWidth  = 18 * vg.Centimeter
	panelHeight = 11 * vg.Centimeter
	columns     = 2
)

// ErrNothing is returned when no result has a rate.
var ErrNothing = errors.New("plot: nothing was measured")

// WriteSVG draws a report.
func WriteSVG(w io.Writer, r bench.Report) error {
	panels, err := panelsOf(r.Results)
	if err != nil {
		return err
	}
	cols := min(columns, len(panels))
	rows := (len(panels) + cols - 1) / cols
	canvas := vgsvg.New(panelWidth*vg.Length(cols), panelHeight*vg.Length(rows))
	page := draw.New(canvas)
	page.SetColor(color.White) // where pages are dark, text would not be seen
	page.Fill(page.Path())
	tiles := draw.Tiles{Rows: rows, Cols: cols, PadX: vg.Centimeter / 2, PadY: vg.Centimeter / 2,
		PadTop: vg.Centimeter / 4, PadBottom: vg.Centimeter / 4, PadLeft: vg.Centimeter / 4, PadRight: vg.Centimeter / 4}
	for i, p := range panels {
		if err := p.draw(tiles.At(page, i%cols, i/cols), r.Device); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
	}
	_, err = canvas.WriteTo(w)
	return err
}

// panel is the lines of one kind of key and distribution.
type panel struct {
	key   opencl.KeyKind
	dist  string
	lines []line
}

// line is the points of one label, in the order of their sizes.
type line struct {
	label  string
	points plotter.XYs
}

func panelsOf(results []bench.Result) ([]*panel, error) {
	var panels []*panel
	for _, r := range results {
		if r.Rate == 0 {
			continue
		}
		at := slices.IndexFunc(panels, func(p *panel) bool { return p.key == r.Key && p.dist == r.Dist })
		if at < 0 {
			at, panels = len(panels), append(panels, &panel{key: r.Key, dist: r.Dist})
		}
		panels[at].add(r)
	}
	if len(panels) == 0 {
		return nil, ErrNothing
	}
	return panels, nil
}

func (p *panel) add(r bench.Result) {
	point := plotter.XY{X: float64(r.Records), Y: r.Rate}
	for i := range p.lines {
		if p.lines[i].label == r.Label {
			p.lines[i].points = append(p.lines[i].points, point)
			return
		}
	}
	p.lines = append(p.lines, line{r.Label, plotter.XYs{point}})
}

// draw draws the panel, and right of it the legend.
func (p *panel) draw(c draw.Canvas, title string) error {
	drawn, legend := plot.New(), plot.NewLegend()
	drawn.Title.Text = fmt.Sprintf("%s: %s, %s", title, p.key, p.dist)
	drawn.X.Label.Text, drawn.Y.Label.Text = "keys", "keys per second"
	drawn.X.Scale, drawn.Y.Scale = plot.LogScale{}, plot.LogScale{}
	drawn.X.Tick.Marker, drawn.Y.Tick.Marker = plot.TickerFunc(powersOfTwo), plot.TickerFunc(decades)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	drawn.Add(grid)
	for i, l := range p.lines {
		lines, points, err := plotter.NewLinePoints(l.points)
		if err != nil {
			return err
		}
		lines.Color, points.Color = colours[i%len(colours)], colours[i%len(colours)]
		lines.Width = vg.Points(1.2)
		points.Shape, points.Radius = shapes[i%len(shapes)], vg.Points(2.2)
		if i >= len(shapes) { // shapes come again
			lines.Dashes = []vg.Length{vg.Points(4), vg.Points(2)}
		}
		drawn.Add(lines, points)
		legend.Add(l.label, lines, points)
	}
	widen(drawn)
	legend.Top, legend.Left, legend.YOffs, legend.Padding = true, true, -vg.Centimeter, vg.Points(3)
	plain(drawn, &legend)
	width := legend.Rectangle(c).Size().X + vg.Centimeter/2
	drawn.Draw(draw.Crop(c, 0, -width, 0, 0))
	legend.Draw(draw.Crop(c, c.Size().X-width, 0, 0, 0))
	return nil
}

// plain sets all text without serifs, which reads better on a screen, and the legend small.
func plain(p *plot.Plot, legend *plot.Legend) {
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	legend.TextStyle.Font.Size = vg.Points(9)
}

// widen leaves room at the sides, and takes the axis of rates to whole powers.
func widen(p *plot.Plot) {
	p.X.Min, p.X.Max = p.X.Min/math.Sqrt2, p.X.Max*math.Sqrt2
	p.Y.Min = math.Pow10(int(math.Floor(math.Log10(p.Y.Min))))
	p.Y.Max = math.Pow10(int(math.Ceil(math.Log10(p.Y.Max * 1.05))))
}

// colours can be told apart by the colour-blind too (Okabe and Ito); shapes help in print.
var (
	colours = []color.Color{
		color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF}, color.RGBA{R: 0xD5, G: 0x5E, B: 0x00, A: 0xFF},
		color.RGBA{R: 0x00, G: 0x9E, B: 0x73, A: 0xFF}, color.RGBA{R: 0xCC, G: 0x79, B: 0xA7, A: 0xFF},
		color.RGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF}, color.RGBA{R: 0x56, G: 0xB4, B: 0xE9, A: 0xFF},
		color.RGBA{A: 0xFF}, color.RGBA{R: 0x99, G: 0x99, B: 0x33, A: 0xFF},
		color.RGBA{R: 0xA0, G: 0x00, B: 0x30, A: 0xFF}, color.RGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xFF},
	}
	shapes = []draw.GlyphDrawer{
		draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{},
		draw.PlusGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{},
	}
)

// powersOfTwo labels a size axis: every power where there is room, else every second or fourth.
func powersOfTwo(least, most float64) []plot.Tick {
	from, to := int(math.Ceil(math.Log2(least)-1e-9)), int(math.Floor(math.Log2(most)+1e-9))
	step := 1 + (to-from)/10
	var ticks []plot.Tick
	for power := from; power <= to; power++ {
		tick := plot.Tick{Value: math.Exp2(float64(power))}
		if (power-from)%step == 0 {
			tick.Label = fmt.Sprintf("2^%d", power)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// decades labels a rate axis: 1k 10k 100k 1M and so on, with ticks between.
func decades(least, most float64) []plot.Tick {
	from, to := int(math.Floor(math.Log10(least)+1e-9)), int(math.Ceil(math.Log10(most)-1e-9))
	var ticks []plot.Tick
	for power := from; power <= to; power++ {
		value := math.Pow10(power)
		ticks = append(ticks, plot.Tick{Value: value, Label: short(value)})
		for i := 2.0; i < 10 && power < to; i++ {
			ticks = append(ticks, plot.Tick{Value: i * value})
		}
	}
	return ticks
}

// short is a power of ten with the letter of its thousands.
func short(v float64) string {
	for _, unit := range []struct {
		size   float64
		letter string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return fmt.Sprintf("%.0f%s", v/unit.size, unit.letter)
		}
	}
	return fmt.Sprintf("%g", v)
}
