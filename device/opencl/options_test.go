package opencl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/extsort/extsort/device"
)

// TestFailuresWrapTheContractsClass checks that code outside this package can recognize a failed
// device without importing this package, and that errors.Is still distinguishes the failures.
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
