package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/extsort/extsort/device"
)

// A Report contains the results of a view on a device.
type Report struct {
	// Version of this format; 0: an older one, or another program's.
	Schema  int         `json:"schema"`
	Device  string      `json:"device"`
	Driver  string      `json:"driver,omitempty"`
	Kind    device.Kind `json:"kind"`
	View    string      `json:"table"`
	Clock   string      `json:"clock"` // which time was measured
	Runs    int         `json:"runs"`
	Results []Result    `json:"results"`
}

// The values of Report.Clock for the two kinds of Bed.
const (
	ClockHost   = "Load, Sort and Store from memory to memory, by the host's clock"
	ClockDevice = "keys resident on the device, by its clock"
)

// NewReport returns a report that describes the bed and has no results yet.
func NewReport(bed Bed, view string, runs int) Report {
	info := bed.Info()
	r := Report{
		Schema: 1, Device: info.Name, Driver: info.Driver, Kind: info.Kind, View: view, Clock: ClockDevice, Runs: runs,
	}
	_, ok := bed.(*chunks)
	if ok {
		r.Clock = ClockHost
	}
	if r.Runs == 0 {
		r.Runs = defaultRuns
	}
	return r
}

// WriteJSON writes the report as indented JSON.
func (r Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// ReadReport reads a report that WriteJSON or another program such as docs/gpu/cub.cu has
// written. In older files, the field keys_per_second is called keysPerSecond.
func ReadReport(r io.Reader) (report Report, err error) {
	text, err := io.ReadAll(r)
	text = bytes.ReplaceAll(
		text,
		[]byte(`"keysPerSecond"`),
		[]byte(`"keys_per_second"`),
	)
	if err = cmp.Or(err, json.Unmarshal(text, &report)); err != nil {
		return report, fmt.Errorf("read results: %w", err)
	}
	for i, result := range report.Results {
		if result.Label == "" || result.Dist == "" ||
			result.Key.WordBytes == 0 ||
			result.Records < 1 {
			return report, fmt.Errorf(
				"read results: result %d lacks its label, key, dist or records",
				i,
			)
		}
	}
	return report, nil
}

// Join returns the first report with the results of all, ordered by size.
func Join(first Report, others ...Report) Report {
	first.Results = slices.Clone(first.Results)
	for _, r := range others {
		first.Results = append(first.Results, r.Results...)
	}
	slices.SortStableFunc(first.Results, func(a, b Result) int {
		return cmp.Compare(a.Records, b.Records)
	})
	return first
}

// WriteText writes the finding and the tables of the view.
func (r Report) WriteText(w io.Writer) error {
	view, err := FindView(r.View)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		w,
		"%s\n\n%s (%s)\n%s; medians of %d\n",
		r.Finding(),
		r.Device,
		r.Driver,
		r.Clock,
		r.Runs,
	)
	if err != nil {
		return err
	}
	for _, t := range view.Tables(r.Results) {
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Failed returns the number of results that are errors.
func (r Report) Failed() (n int) {
	for _, result := range r.Results {
		if result.Error != "" {
			n++
		}
	}
	return n
}
