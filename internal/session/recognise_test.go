package session

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"

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
		"\x93NUMPY\x01\x00v\x00": "this is a NumPy array: Record.Format npy; or Options.Raw to sort its bytes as they are",
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

func TestForeignInputsAreRefusedUnderCompression(t *testing.T) {
	t.Parallel()
	data := beginning("\x93NUMPY\x01\x00v\x00")
	for _, c := range []format.Compression{format.Gzip, format.Zstd, format.S2} {
		for way, opt := range waysIn(t, compressed(t, data, c)) {
			if opt.Record, opt.Stdout = u64Spec, io.Discard; way == "many files" {
				opt.TempDirs = []string{t.TempDir()}
			}
			_, err := Sort(t.Context(), opt)
			if err == nil || !strings.Contains(err.Error(), "this is a NumPy array: Record.Format npy") {
				t.Errorf("%v, %s: %v", c, way, err)
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

func TestDecompressNoneSortsWhatLooksCompressed(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"\x28\xb5\x2f\xfd", "\xfd7zXZ\x00\x00\x04", "BZh91AY&SY"} {
		data := beginning(first)
		opt := Options{Record: u64Spec, Inputs: []string{writeFile(t, data)}}
		if _, _, err := sortToBytes(t, opt); err == nil || !strings.Contains(err.Error(), "Options.Decompress none") {
			t.Errorf("%q: %v", first, err)
		}
		opt.Decompress = "none"
		if got, _, err := sortToBytes(t, opt); err != nil || !bytes.Equal(got, sortedKeys(data)) {
			t.Errorf("%q: %v", first, err)
		}
	}
	array := writeFile(t, beginning("\x93NUMPY\x01\x00v\x00"))
	npy := Options{Record: u64Spec, Decompress: "none", Inputs: []string{array}}
	if _, _, err := sortToBytes(t, npy); err == nil || !strings.Contains(err.Error(), "this is a NumPy array") {
		t.Errorf("a NumPy array: %v", err)
	}
}

func TestLZ4InputsAreSorted(t *testing.T) {
	t.Parallel()
	data := beginning("\x00")
	var packed bytes.Buffer
	w := lz4.NewWriter(&packed)
	w.Write(data)
	w.Close()
	for way, opt := range waysIn(t, packed.Bytes()) {
		want := sortedKeys(bytes.Repeat(data, max(1, len(opt.Inputs))))
		opt.Record = u64Spec
		if got, _, err := sortToBytes(t, opt); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v", way, err)
		}
	}
}

func TestSosdUnderTypeWarns(t *testing.T) {
	t.Parallel()
	data := beginning("\xe7\x03\x00\x00\x00\x00\x00\x00")
	for raw, want := range map[bool]int{false: 1, true: 0} {
		var warnings []string
		opt := Options{Record: u64Spec, Raw: raw, Inputs: []string{writeFile(t, data)}}
		opt.Warn = func(text string) { warnings = append(warnings, text) }
		got, _, err := sortToBytes(t, opt)
		if err != nil || !bytes.Equal(got, sortedKeys(data)) {
			t.Error(err)
		}
		if len(warnings) != want || want > 0 && !strings.Contains(warnings[0], "use Record.Format sosd Record.Type u64") {
			t.Errorf("raw %v: %q", raw, warnings)
		}
	}
}

func TestForeignSuffixIsRefusedBeforeAnythingIsRead(t *testing.T) {
	t.Parallel()
	opt := Options{Record: u64Spec, Output: t.TempDir() + "/u.xz", Inputs: []string{"no such file"}}
	if _, err := Sort(t.Context(), opt); err == nil || !strings.Contains(err.Error(), "or Options.Compress none") ||
		strings.Contains(err.Error(), "no such file:") {
		t.Error(err)
	}
}
