package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
)

// A Case is one sort to time.
type Case struct {
	// Name of the algorithm and its parameters in tables and plots.
	Label     string         `json:"label"`
	Algorithm string         `json:"algorithm"`
	Params    algo.Params    `json:"params,omitzero"`
	Key       opencl.KeyKind `json:"key"`
	Dist      string         `json:"dist"` // one of format.Distributions
	Records   int64          `json:"records"`
}

// Timing contains the measurements of a Bed.
type Timing struct {
	Seconds []float64 // of each run
	Passes  int       // passes over the data in one run; 0: unknown

	Kernels map[string]float64 // seconds of each kernel in the last run; nil: unknown
}

// A Result is a case with its measurements, or with the reason why it was not measured.
type Result struct {
	Case
	Seconds float64            `json:"seconds,omitempty"` // the median of the runs
	Rate    float64            `json:"keys_per_second,omitempty"`
	Passes  int                `json:"passes,omitempty"`
	Kernels map[string]float64 `json:"kernels,omitempty"` // seconds of one run
	Skipped string             `json:"skipped,omitempty"` // why it was not timed
	// A wrong result, or a failure of the device.
	Error string `json:"error,omitempty"`
}

// The errors of a Bed wrap one of these.
var (
	ErrWrong = errors.New("wrong result")
	// The device does not support the parameters or the size; not a failure.
	ErrCannot = errors.New("not on this device")
)

// A Bed is a device on which cases are timed, one at a time.
type Bed interface {
	Info() device.Info

	// Time sorts the keys of a case once, checks the result, and then times the given number of
	// runs.
	Time(ctx context.Context, c Case, runs int) (Timing, error)

	Close() error
}

// median returns the median of values, which must not be empty.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
