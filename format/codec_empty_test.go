package format

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestEmptyStreams reads the streams that the tools of each format write for no data, alone and
// concatenated. The result must be empty without an error. A stream that begins and has no end
// must be an error, if its format marks the end.
func TestEmptyStreams(t *testing.T) {
	for _, test := range []struct {
		made   string
		codec  Compression
		stream string
		cut    int // the least number of bytes whose loss goes unnoticed; 0 if none exists
	}{
		{"gzip -n", Gzip, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00", 0},
		{"zstd", Zstd, "\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51", 0},
		{"zstd --no-check", Zstd, "\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00", 0},
		{"a skippable frame", Zstd, "\x50\x2a\x4d\x18\x00\x00\x00\x00", 0},
		{"lz4", LZ4, "\x04\x22\x4d\x18\x64\x40\xa7\x00\x00\x00\x00\x05\x5d\xcc\x02", 0},
		{"bzip2", Bzip2, "BZh9\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00", 0},
		{"s2c", S2, "\xff\x06\x00\x00S2sTwO", 0},
		{"snzip", S2, "\xff\x06\x00\x00sNaPpY", 0},
		{"s2c with padding", S2, "\xff\x06\x00\x00S2sTwO\xfe\x02\x00\x00\x00\x00", 6},
		{"extsort", S2, "\xff\x06\x00\x00S2sTwO\x80\x07\x00\x00extsort\x80\x0b\x00\x00extsort end", 26},
	} {
		if got := Detect([]byte(test.stream)); got != test.codec {
			t.Errorf("%s: recognized as %v", test.made, got)
		}
		for _, streams := range []string{test.stream, test.stream + test.stream} {
			got, err := decompressed(test.codec, strings.NewReader(streams))
			if err != nil || len(got) != 0 {
				t.Errorf("%s: %d bytes are %q: %v", test.made, len(streams), got, err)
			}
		}
		for at := 1; at < len(test.stream); at++ {
			missing := len(test.stream) - at
			_, err := decompressed(test.codec, iotest.DataErrReader(strings.NewReader(test.stream[:at])))
			if (err == nil) != (missing == test.cut) {
				t.Errorf("%s, %d bytes missing: %v", test.made, missing, err)
			}
		}
	}
}

// TestNoBytes decompresses a file of no bytes, as all tools but bzip2 and gzip do.
func TestNoBytes(t *testing.T) {
	for _, codec := range []Compression{Gzip, Zstd, LZ4, Bzip2, S2} {
		got, err := decompressed(codec, strings.NewReader(""))
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
			t.Errorf("%v: %q, %v", codec, got, err)
		}
	}
}
