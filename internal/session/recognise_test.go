package session

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
)

var u64Spec = format.Spec{Type: "u64"}

// beginning returns 8000 bytes that begin with first.
func beginning(first string) []byte {
	data := bytes.Repeat([]byte{0x5a, 1, 0, 7}, 2000)
	copy(data, first)
	return data
}

// waysIn returns options that read data from every kind of input.
func waysIn(t *testing.T, data []byte) map[string]Options {
	name := writeFile(t, data)
	return map[string]Options{
		"file": {Inputs: []string{name}}, "many files": {Inputs: slices.Repeat([]string{name}, input.MaxOpen+1)},
		"stdin": {Stdin: bytes.NewReader(data)}, "pieces": {Stdin: &dribble{data, 7}},
	}
}

func TestForeignInputsAreRefused(t *testing.T) {
	t.Parallel()
	for first, want := range map[string]string{
		"\x93NUMPY\x01\x00v\x00": "this is a NumPy array: Record.Format npy instead of Record.Type; or Options.Raw",
		"\xfd7zXZ\x00\x00\x04":   "this is compressed with xz: decompress it first",
		"\x89HDF\r\n\x1a\n":      "this is an HDF5 file: convert it to plain records with a program",
	} {
		data := beginning(first)
		for way, opt := range waysIn(t, data) {
			var out bytes.Buffer
			opt.Record, opt.Stdout, opt.MemoryBytes = u64Spec, &out, MinMemory
			for _, run := range []func() error{
				func() error { _, err := Sort(t.Context(), opt); return err },
				func() error { _, err := Check(t.Context(), checkOptions(opt)); return err },
				func() error { _, err := mergeAs(t.Context(), opt); return err },
			} {
				if opt.Stdin != nil {
					opt.Stdin = bytes.NewReader(data)
				}
				err := run()
				if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
					t.Errorf("%q, %s: %v, %d bytes are written", first, way, err, out.Len())
				}
			}
		}
	}
}

func TestRawSortsWhatLooksForeign(t *testing.T) {
	t.Parallel()
	for _, first := range []string{
		"\x93NUMPY\x01\x00v\x00", "\xfd7zXZ\x00\x00\x04", "\x28\xb5\x2f\xfd",
		"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "BZh91AY&SY", "\xff\x06\x00\x00S2sTwO",
	} {
		data := beginning(first)
		for way, opt := range waysIn(t, data) {
			if way == "many files" {
				opt.Inputs = opt.Inputs[:1]
			}
			opt.Record, opt.Raw = u64Spec, true
			if got, _, err := sortToBytes(t, opt); err != nil || !bytes.Equal(got, sortedKeys(data)) {
				t.Errorf("%q, %s: %v", first, way, err)
			}
		}
	}
}
