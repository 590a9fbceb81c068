package format

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	_ "github.com/extsort/extsort/format/brotli" // registers its library
	"github.com/extsort/extsort/internal/testfiles"
)

func TestBrotliStreams(t *testing.T) {
	data := compressible(300_000)
	stream := compressed(t, Brotli, 1, data)
	if !bytes.Equal(stream, compressed(t, Brotli, 4, data)) {
		t.Error("the bytes depend on the number of workers")
	}
	if Detect(stream[:DetectBytes]) != None {
		t.Error("it is detected by its first bytes")
	}
	for _, name := range []string{"x.br", "/a.b/x.br"} {
		if c := (Recognition{}).Compression(name, stream[:DetectBytes]); c != Brotli {
			t.Errorf("%s is %v", name, c)
		}
	}
	for name, c := range map[string]string{"x.br": "", "x": "br", "x.gz": "brotli"} {
		if got, err := ParseCompression(c, name); err != nil || got != Brotli {
			t.Errorf("%q, %s: %v, %v", c, name, got, err)
		}
	}

	for what, more := range map[string]string{"text": "hello", "another stream": string(stream), "a zero": "\x00"} {
		got, err := decompressed(Brotli, bytes.NewReader(append(bytes.Clone(stream), more...)))
		if err == nil || !bytes.HasPrefix(data, got) {
			t.Errorf("%s behind it: %d bytes, %v", what, len(got), err)
		}
	}
	for n := range 40 {
		at := n * len(stream) / 40
		got, err := decompressed(Brotli, bytes.NewReader(stream[:at]))
		if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(data, got) {
			t.Errorf("cut at %d: %d bytes, %v", at, len(got), err)
		}
		if err != nil && !strings.Contains(err.Error(), "(if this is not brotli: Options.Decompress none)") {
			t.Errorf("cut at %d: %v", at, err)
		}
	}
}

// TestBrotliWindows reads windows of all sizes that other programs write.
func TestBrotliWindows(t *testing.T) {
	data := compressible(64 << 10)
	for bits := 10; bits <= 24; bits++ {
		var b bytes.Buffer
		w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 5, LGWin: bits})
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := brotliStreamWindow(b.Bytes()); got != 1<<bits {
			t.Errorf("a window of %d bits is taken for %d bytes", bits, got)
		}
		if got := StreamWindowBytes(Brotli, b.Bytes()); got != max(int64(1)<<bits, CommonWindow) {
			t.Errorf("a window of %d bits looks back %d bytes", bits, got)
		}
		if got, err := decompressed(Brotli, bytes.NewReader(b.Bytes())); err != nil || !bytes.Equal(got, data) {
			t.Errorf("a window of %d bits: %d bytes, %v", bits, len(got), err)
		}
		r := NewReader(bytes.NewReader(b.Bytes()), Brotli, 8<<20)
		_, err := io.ReadAll(r)
		tooFar := err != nil && strings.Contains(err.Error(), "it needs a window of more than 8 MiB; decompress it first")
		if tooFar != (bits == 24) {
			t.Errorf("a window of %d bits under a limit of 8 MiB: %v", bits, err)
		}
	}
}

func TestBrotliReaderMemoryHolds(t *testing.T) {
	if testfiles.Race {
		t.Skip("the race detector holds memory of its own")
	}
	for _, bits := range []int{18, 24} {
		var b bytes.Buffer
		w := brotli.NewWriterOptions(&b, brotli.WriterOptions{Quality: 1, LGWin: bits})
		w.Write(compressible(20 << 20)) // a Buffer takes everything
		w.Close()
		checkReaderMemory(t, Brotli, b.Bytes())
	}
}
