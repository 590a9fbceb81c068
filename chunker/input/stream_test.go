package input

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
)

// countedCloser counts how often it is closed.
type countedCloser int

func (c *countedCloser) Close() error {
	*c++
	return nil
}

// TestStreamClosesInputs checks that the decompressor of an input is closed, once, as soon as the
// input has been read.
func TestStreamClosesInputs(t *testing.T) {
	header := formattest.Header(t, format.Spec{Type: "u8"})
	var closed [2]countedCloser
	inputs := make([]*Input, 2)
	for i := range inputs {
		inputs[i] = &Input{
			Header:  header,
			Records: -1,
			origin:  unknownOrigin{},
			reading: reading{access: inSequence, stream: strings.NewReader("ab")},
			close:   []io.Closer{&closed[i]},
		}
	}
	s := NewStream(inputs)
	if n, err := s.readRecords(make([]byte, 3)); n != 3 || err != nil || closed != [2]countedCloser{1, 0} {
		t.Errorf("%d read, %v, closed %v times, want [1 0]", n, err, closed)
	}
	if n, err := s.readRecords(make([]byte, 3)); n != 1 || err != nil {
		t.Errorf("%d read, %v", n, err)
	}
	if err := s.Close(); err != nil || closed != [2]countedCloser{1, 1} {
		t.Errorf("closed %v times, %v, want [1 1]", closed, err)
	}
}

// stalledReader returns 0 bytes and no error at its end.
type stalledReader struct{ given io.Reader }

func (s stalledReader) Read(p []byte) (int, error) {
	n, _ := s.given.Read(p)
	return n, nil
}

// TestStalledReader checks that a stalled reader causes an error with its position, whether it
// stalls in the header, in the records or in compressed data.
func TestStalledReader(t *testing.T) {
	array := formattest.Header(t, format.Spec{Format: "npy", Type: "u64"})
	records := array.Encode(1000)
	for name, c := range map[string]struct {
		spec  format.Spec
		given []byte
	}{
		"first bytes": {format.Spec{Type: "u64"}, nil},
		"header":      {format.Spec{Format: "npy"}, records[:40]},
		"records":     {format.Spec{Format: "npy"}, append(records, make([]byte, 1<<20)[:7992]...)},
		"zstd":        {format.Spec{Type: "u64"}, zstdOf(t, make([]byte, 1<<20))[:40]},
	} {
		inputs, err := Open(t.Context(), Kind{Spec: c.spec}, Named(Stdin), stalledReader{bytes.NewReader(c.given)}, 1<<20)
		if err == nil {
			_, err = NewStream(inputs).readRecords(make([]byte, 1<<20))
			err = errors.Join(err, inputs[0].Close())
		}
		if !errors.Is(err, io.ErrNoProgress) || !strings.Contains(err.Error(), "standard input") {
			t.Errorf("%s: the error is: %v", name, err)
		}
	}
}

func zstdOf(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := format.NewWriter(&packed, format.Zstd, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
