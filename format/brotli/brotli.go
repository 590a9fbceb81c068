// Package brotli lets a program read and write brotli (RFC 7932). Import it for its side effect:
//
//	import _ "github.com/extsort/extsort/format/brotli"
//
// The command extsort imports it. Only the root package of this module is stable.
package brotli

import (
	"io"

	"github.com/andybalholm/brotli"

	"github.com/extsort/extsort/internal/compressor"
)

// Records are hardly smaller at higher levels or with a larger window, which take more time and memory.
const (
	level      = 2
	windowBits = 18
)

func init() {
	compressor.Register("brotli", compressor.Library{
		NewReader: func(r io.Reader) io.Reader { return brotli.NewReader(r) },
		NewWriter: func(w io.Writer) io.WriteCloser {
			return brotli.NewWriterOptions(w, brotli.WriterOptions{Quality: level, LGWin: windowBits})
		},
	})
}
