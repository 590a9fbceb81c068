//go:build !opencl || !cgo || !linux

package opencl

// Fingerprint is empty: this binary has no kernels.
func Fingerprint() string { return "" }
