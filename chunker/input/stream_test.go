package input

import (
	"io"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
)

// countedCloser counts how often it is closed.
type countedCloser int

func (c *countedCloser) Close() error {
	*c++
	return nil
}

// TestStreamClosesInputs closes what decompresses an input as soon as the input has been read, and nothing twice.
func TestStreamClosesInputs(t *testing.T) {
	header, err := format.Spec{Type: "u8"}.NewHeader()
	if err != nil {
		t.Fatal(err)
	}
	var closed [2]countedCloser
	inputs := make([]*Input, 2)
	for i := range inputs {
		inputs[i] = &Input{Header: header, Records: -1, stream: strings.NewReader("ab"), close: []io.Closer{&closed[i]}}
	}
	s := NewStream(inputs)
	if n, err := s.next(make([]byte, 3)); n != 3 || err != nil || closed != [2]countedCloser{1, 0} {
		t.Errorf("%d read, %v, closed %v times, want [1 0]", n, err, closed)
	}
	if n, err := s.next(make([]byte, 3)); n != 1 || err != nil {
		t.Errorf("%d read, %v", n, err)
	}
	if err := s.Close(); err != nil || closed != [2]countedCloser{1, 1} {
		t.Errorf("closed %v times, %v, want [1 1]", closed, err)
	}
}
