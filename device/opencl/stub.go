//go:build !opencl || !cgo || !linux

package opencl

import (
	"fmt"
	"runtime"

	"github.com/extsort/extsort/device"
)

// Installed reports false: there is nothing to start.
func Installed() bool { return false }

// Fingerprint is empty: this binary has no kernels.
func Fingerprint() string { return "" }

// Devices lists no device: this binary was built without OpenCL. The error tells how to build one with it.
func Devices() ([]device.Info, error) {
	if runtime.GOOS != "linux" {
		return nil, fmt.Errorf("%w: it is supported on Linux only", ErrUnavailable)
	}
	return nil, fmt.Errorf("%w: this extsort was built without it: see docs/install.md",
		ErrUnavailable)
}

// Open fails: this binary was built without OpenCL.
func Open(int, Options) (device.Device, error) {
	_, err := Devices()
	return nil, err
}
