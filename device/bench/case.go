package bench

import (
	"context"
	"errors"
	"slices"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/device/opencl/algo"
)

// Case is one thing to time.
type Case struct {
	Label     string         `json:"label"` // what tables and plots call algorithm and parameters
	Algorithm string         `json:"algorithm"`
	Params    algo.Params    `json:"params,omitzero"`
	Key       opencl.KeyKind `json:"key"`
	Dist      string         `json:"dist"` // one of format.Distributions
	Records   int64          `json:"records"`
}

// Timing is what a Bed measured.
type Timing struct {
	Seconds []float64 // of each run
	Passes  int       // over the data, in one run; 0 where that is not told

	Kernels map[string]float64 // seconds that each kernel took in the last run; nil where that is not told
}

// Result is a case with its figures, or why there are none.
type Result struct {
	Case
	Seconds float64            `json:"seconds,omitempty"` // the median of the runs
	Rate    float64            `json:"keys_per_second,omitempty"`
	Passes  int                `json:"passes,omitempty"`
	Kernels map[string]float64 `json:"kernels,omitempty"` // seconds of one run
	Skipped string             `json:"skipped,omitempty"` // why it was not timed
	Error   string             `json:"error,omitempty"`   // what went wrong: a wrong result, or a device that failed
}

// What a Bed's errors wrap.
var (
	ErrWrong  = errors.New("wrong result")
	ErrCannot = errors.New("not on this device") // parameters or sizes that it cannot have: no fault
)

// Bed is a device on which cases are timed, one at a time.
type Bed interface {
	Info() device.Info

	// Time sorts the keys of a case once, checks the result, and then times so many runs.
	Time(ctx context.Context, c Case, runs int) (Timing, error)

	Close() error
}

// median is the middle of the values, of which there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
