package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	panelWidth = 20 * vg.Centimeter
	barPitch   = 0.62 * vg.Centimeter // from bar to bar
	barWidth   = 0.42 * vg.Centimeter
	panelExtra = 2.4 * vg.Centimeter // title and axis
)

// colours can be told apart by the colour-blind too (Okabe and Ito).
var colours = map[kind]color.Color{
	own:       color.RGBA{R: 0x00, G: 0x72, B: 0xB2, A: 0xFF},
	yardstick: color.Gray{0x99},
	peer:      color.RGBA{R: 0xE6, G: 0x9F, B: 0x00, A: 0xFF},
}

// writeSVG draws a panel of bars for each workload: how much data each contender sorts in a second, by its median.
// Rates, not times, so that a contender that takes a hundred times as long does not press the others flat.
func (r *report) writeSVG(w io.Writer) error {
	var panels []*plot.Plot
	var heights []vg.Length
	var total vg.Length
	for _, s := range r.Workloads {
		done := s.finished()
		if len(done) == 0 {
			continue
		}
		panel, err := s.panel(done)
		if err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		height := barPitch*vg.Length(len(done)) + panelExtra
		panels, heights, total = append(panels, panel), append(heights, height), total+height
	}
	if len(panels) == 0 {
		return errors.New("plot: nothing was measured")
	}
	return drawPanels(w, panels, heights, total)
}

// drawPanels sets the panels below each other.
func drawPanels(w io.Writer, panels []*plot.Plot, heights []vg.Length, total vg.Length) error {
	canvas := vgsvg.New(panelWidth, total)
	page := draw.New(canvas)
	top := total
	for i, panel := range panels {
		panel.Draw(draw.Crop(page, 2*vg.Millimeter, -4*vg.Millimeter,
			top-heights[i]+2*vg.Millimeter, top-total-2*vg.Millimeter))
		top -= heights[i]
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	_, err := w.Write(bytes.ReplaceAll(svg.Bytes(), []byte("font-family:"+family), []byte("font-family:"+family+alike)))
	return err
}

// Texts are placed by the widths of the family; those alike have the same widths, and one of them is on every machine
// that shows the drawing, or nearly.
const (
	family = "Liberation Sans"
	alike  = ",Arial,Helvetica,sans-serif"
)

func init() {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	plotter.DefaultFont = plot.DefaultFont
}

// finished are the results to draw, the last row first: bars are counted from below.
func (s *section) finished() []result {
	var done []result
	for i := len(s.Results) - 1; i >= 0; i-- {
		if s.Results[i].Failed == "" {
			done = append(done, s.Results[i])
		}
	}
	return done
}

// panel draws a workload.
func (s *section) panel(done []result) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s (%s)", s.Title, s.Size)
	p.X.Label.Text = "GB/s; the thin line reaches from the slowest run to the fastest"
	p.X.Min = 0
	p.Y.Min, p.Y.Max = -0.5, float64(len(done))-0.5
	grid := plotter.NewGrid()
	grid.Horizontal.Width, grid.Vertical.Color = 0, color.Gray{225}
	p.Add(grid)
	var names []string
	for i, r := range done {
		names = append(names, r.label()+"  ")
		if err := s.addBar(p, i, r); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)
	p.Y.Tick.Length = 0
	p.X.Max *= 1.1 // room for the figures
	return p, nil
}

// addBar draws one result at its height, in the colour of its kind, with the range of its runs and its figure.
func (s *section) addBar(p *plot.Plot, at int, r result) error {
	rate := r.Rate / 1e9
	bar, err := plotter.NewBarChart(plotter.Values{rate}, barWidth)
	if err != nil {
		return err
	}
	bar.Horizontal, bar.XMin = true, float64(at)
	bar.Color, bar.LineStyle.Width = colours[r.Kind], 0
	least, most := ratio(float64(s.Bytes), r.Summary.Max)/1e9, ratio(float64(s.Bytes), r.Summary.Min)/1e9
	span, err := plotter.NewLine(plotter.XYs{{X: least, Y: float64(at)}, {X: most, Y: float64(at)}})
	if err != nil {
		return err
	}
	figure, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: max(most, rate), Y: float64(at)}},
		Labels: []string{fmt.Sprintf("%.2f", rate)}})
	if err != nil {
		return err
	}
	figure.Offset = vg.Point{X: vg.Points(4), Y: -vg.Points(3)}
	p.Add(bar, span, figure)
	return nil
}

// label names a bar.
func (r result) label() string { return contender{name: r.Name, memory: r.Memory}.label() }
