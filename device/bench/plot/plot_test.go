package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/extsort/extsort/device/bench"
	"github.com/extsort/extsort/device/opencl"
)

// report returns results for two panels with two lines each.
func report() bench.Report {
	r := bench.Report{Device: "fake <device>"}
	for _, key := range opencl.KeyKinds[:2] {
		for n := int64(256); n <= 1<<20; n *= 4 {
			for i, label := range []string{"onesweep", "selection"} {
				c := bench.Case{Label: label, Key: key, Dist: "zipf", Records: n}
				r.Results = append(r.Results, bench.Result{Case: c, Rate: float64(n) * float64(1+9*i)})
			}
		}
	}
	r.Results = append(r.Results, bench.Result{Case: bench.Case{Label: "tile", Key: opencl.KeyKinds[0],
		Dist: "zipf", Records: 256}})
	return r
}

func TestWriteSVG(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSVG(&b, report()); err != nil {
		t.Fatal(err)
	}
	texts := textsOf(t, b.String())
	for want, times := range map[string]int{
		"fake <device>: u32, zipf": 1, "fake <device>: u64, zipf": 1, "onesweep": 2, "selection": 2, "tile": 0,
		"2^8": 2, "2^20": 2, "1k": 2, "1M": 2, "keys per second": 2,
	} {
		if got := texts[want]; got != times {
			t.Errorf("%q stands in the plot %d times, not %d", want, got, times)
		}
	}
}

// textsOf counts the texts of an SVG file, which must be well-formed.
func textsOf(t *testing.T, svg string) map[string]int {
	t.Helper()
	texts := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.CharData); ok {
			texts[strings.TrimSpace(string(s))]++
		}
	}
}

func TestNothingToPlot(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSVG(&b, bench.Report{Results: []bench.Result{{Skipped: "too large"}}}); !errors.Is(err,
		ErrNothing) || b.Len() > 0 {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}

// A single point gives no range for the scale.
func TestOnePoint(t *testing.T) {
	r := bench.Report{Results: report().Results[:1]}
	if err := WriteSVG(io.Discard, r); err != nil {
		t.Error(err)
	}
}
