//go:build !opencl || !cgo || !linux

package opencl

import (
	"fmt"
	"runtime"

	"github.com/extsort/extsort/device"
)

// Installed returns false.
func Installed() bool { return false }

// Fingerprint returns "", because this binary has no kernels.
func Fingerprint() string { return "" }

// Devices returns an error that says how to build a binary with OpenCL.
func Devices() ([]device.Info, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf(
			"%w: it is supported on Linux only", ErrUnavailable,
		)
	}
	return nil, fmt.Errorf("%w: this extsort was built without it: see docs/install.md",
		ErrUnavailable)
}

// Open returns an error, because this binary was built without OpenCL.
func Open(int, Options) (device.Device, error) {
	_, err := Devices()
	return nil, err
}
