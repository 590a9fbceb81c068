//go:build opencl && cgo && linux

package algo

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"

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

// HasBallots reports whether onesweep ranks by ballots on the context's device (rank.cl), which is found out by building
// and running a kernel that tries it. With ballots it is the fastest of the sorts.
func HasBallots(ctx *cl.Context) bool {
	m := &onesweep{dev: ctx.Device()}
	return m.ranking(&builder{ctx: ctx}) != RankMasks
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
