package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// texts returns the texts of a drawing, which must be well-formed.
func texts(t *testing.T, svg []byte) []string {
	t.Helper()
	var found []string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("the drawing is not XML: %v", err)
		}
		if word, ok := token.(xml.CharData); ok && len(bytes.TrimSpace(word)) > 0 {
			found = append(found, strings.TrimSpace(string(word)))
		}
	}
}

func TestPlotShowsWhatRan(t *testing.T) {
	r := sampleReport()
	var svg bytes.Buffer
	if err := r.writeSVG(&svg); err != nil {
		t.Fatal(err)
	}
	words := texts(t, svg.Bytes())
	for _, want := range []string{
		"64-bit keys, uniform (128 records, 1.0 KiB)",
		"cp",
		"extsort -S 256M",
		"1.00",
		"0.50",
	} {
		if !slices.Contains(words, want) {
			t.Errorf("the drawing lacks %q: it has %q", want, words)
		}
	}
	if slices.Contains(words, "NumPy") {
		t.Error("the drawing shows a contender that failed")
	}
}

func TestPlotOfNothing(t *testing.T) {
	r := report{Workloads: []section{{Results: []result{{Name: "cp", Failed: "no space"}}}}}
	if err := r.writeSVG(io.Discard); err == nil {
		t.Error("a drawing of nothing was made")
	}
}

func TestGridStep(t *testing.T) {
	for least, want := range map[float64]float64{0.1: 0.1, 0.11: 0.2, 0.3: 0.5, 0.7: 1, 30: 50} {
		if got := gridStep(least); got < want*0.999 || got > want*1.001 {
			t.Errorf("the step for %v is %v, want %v", least, got, want)
		}
	}
}
