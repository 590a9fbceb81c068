package opencl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestFailuresWrapTheContractsClass holds that code outside this package recognizes a device that failed without
// knowing OpenCL, and that the failures are still told apart.
func TestFailuresWrapTheContractsClass(t *testing.T) {
	failures := []error{ErrUnavailable, ErrAllocation, ErrBuild, ErrDevice}
	for i, failure := range failures {
		wrapped := fmt.Errorf("sort a chunk: %w", failure)
		if !errors.Is(wrapped, device.ErrFailed) {
			t.Errorf("%v is not of the class device.ErrFailed", failure)
		}
		for j, other := range failures {
			if errors.Is(wrapped, other) != (i == j) {
				t.Errorf("%v is %v: %t", failure, other, i != j)
			}
		}
	}
}
