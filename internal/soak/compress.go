package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// suffixes contains the suffixes by which the command recognizes compressed outputs.
var suffixes = map[string]string{
	"":       "",
	"none":   "",
	"gzip":   ".gz",
	"zstd":   ".zst",
	"s2":     ".s2",
	"brotli": ".br",
}

// compress returns data as the given number of compressed streams, one after the other, as if
// joined by cat.
func compress(kind string, data []byte, streams int) []byte {
	if kind == "" {
		return data
	}
	var result bytes.Buffer
	for i := range streams {
		w := newCompressor(kind, &result)
		w.Write(
			data[len(data)*i/streams : len(data)*(i+1)/streams],
		) // a Buffer accepts everything
		w.Close()
	}
	return result.Bytes()
}

func newCompressor(kind string, to io.Writer) io.WriteCloser {
	switch kind {
	case "gzip":
		w, _ := gzip.NewWriterLevel(to, gzip.BestSpeed)
		return w
	case "zstd":
		w, _ := zstd.NewWriter(
			to,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1),
		)
		return w
	case "brotli":
		return brotli.NewWriterLevel(to, brotli.DefaultCompression)
	}
	return s2.NewWriter(to, s2.WriterConcurrency(1))
}

// decompress reverses the compression that the command was asked for.
func decompress(kind string, data []byte) ([]byte, error) {
	from := bytes.NewReader(data)
	switch kind {
	case "", "none":
		return data, nil
	case "gzip":
		r, err := gzip.NewReader(from)
		if err != nil {
			return nil, err
		}
		return io.ReadAll(r)
	case "zstd":
		r, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	case "brotli":
		return io.ReadAll(brotli.NewReader(from))
	case "s2":
		return io.ReadAll(s2.NewReader(from))
	}
	return nil, fmt.Errorf("compression %q is unknown", kind)
}

// isMistakable reports whether raw data begins like data that the command would decompress.
func isMistakable(data []byte) bool {
	for _, magic := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "\xff\x06\x00\x00", "BZh", "\x04\x22\x4d\x18"} {
		if bytes.HasPrefix(data, []byte(magic)) {
			return true
		}
	}
	// A skippable frame of zstd.
	isSkippable := len(data) >= 4 && data[0]&0xf0 == 0x50 &&
		string(data[1:4]) == "\x2a\x4d\x18"
	return isSkippable
}
