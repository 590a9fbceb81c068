//go:build opencl && cgo && linux

package algo

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"

	"github.com/extsort/extsort/device/opencl/cl"
)

// Trace has f told of every kernel that s launches from now on, by name and event, so that a sort can be timed by the
// device's clock. It reports false for a Sorter that cannot be traced. REQUIRES: s is not sorting.
func Trace(s Sorter, f func(kernel string, e *cl.Event)) bool {
	switch s := s.(type) {
	case *radix:
		s.trace = f
	case *selection:
		s.trace = f
	default:
		return false
	}
	return true
}

// HasBallots reports whether ranking by ballots (rank.cl) works on the context's device, by building and running a
// kernel that tries it. With ballots onesweep is the fastest of the sorts.
func HasBallots(ctx *cl.Context) bool {
	dev := ctx.Device()
	return strings.Contains(dev.Vendor, "NVIDIA") && probe(&builder{ctx: ctx}, dev, RankBallots)
}

// Fingerprint tells one set of kernels from another: what was measured with others does not count.
func Fingerprint() string {
	h := sha256.New()
	// The file system is part of the program: reading it cannot fail.
	names, _ := fs.Glob(sources, "kernels/*.cl")
	for _, name := range names {
		text, _ := sources.ReadFile(name)
		h.Write([]byte(name))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
