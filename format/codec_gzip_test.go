package format

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

// TestGzipMembers reads streams of several members, followed by zeros or other bytes.
func TestGzipMembers(t *testing.T) {
	pack := func(text string) []byte {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	one, none := pack("one"), pack("")
	named := slices.Concat([]byte("\x1f\x8b\x08\x08"), one[4:10], []byte("name\x00"), one[10:])
	for _, c := range []struct {
		name   string
		stream []byte
		want   string
		err    error
	}{
		{"one", one, "one", nil},
		{"several", slices.Concat(one, none, one, none), "oneone", nil},
		{"zeros", slices.Concat(one, make([]byte, 10_000)), "one", nil},
		{"one zero", append(slices.Clone(one), 0), "one", nil},
		{"text", append(slices.Clone(one), "hello"...), "one", errTrailing},
		{"a byte", append(slices.Clone(one), 'x'), "one", errTrailing},
		{"zeros and text", slices.Concat(one, make([]byte, 5000), []byte("x")), "one", errTrailing},
		{"half a magic", append(slices.Clone(one), 0x1f), "one", io.ErrUnexpectedEOF},
		{"a name", slices.Concat(one, named), "oneone", nil},
		{"half a name", named[:13], "", io.ErrUnexpectedEOF},
		{"half a name later", slices.Concat(one, named[:13]), "one", io.ErrUnexpectedEOF},
		{"half a member", slices.Concat(one, one[:12]), "one", io.ErrUnexpectedEOF},
	} {
		for _, source := range []io.Reader{bytes.NewReader(c.stream), iotest.OneByteReader(bytes.NewReader(c.stream))} {
			got, err := io.ReadAll(NewReader(source, Gzip, 1<<20))
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s: %q, %v", c.name, got, err)
			}
			if err != nil && c.want != "" && strings.Contains(err.Error(), "none)") {
				t.Errorf("%s: the error advises to sort compressed bytes: %v", c.name, err)
			}
		}
	}
}
