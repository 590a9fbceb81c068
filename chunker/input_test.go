package chunker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestInputKinds reads the same records from everything that can be an input.
func TestInputKinds(t *testing.T) {
	plain := formattest.Numbered(0, 5000)
	npy, sosd := formattest.Npy(t, "u64", plain), append(binary.LittleEndian.AppendUint64(nil, 5000), plain...)
	for name, file := range map[string]struct {
		spec format.Spec
		data []byte
	}{
		"raw": {words, plain}, "npy": {format.Spec{Format: "npy"}, npy}, "sosd": {format.Spec{Format: "sosd",
			Type: "u64"}, sosd},
	} {
		variants := map[string][]byte{"": file.data}
		for _, c := range []format.Compression{format.Gzip, format.Zstd, format.S2} {
			variants[c.String()] = formattest.Compress(t, file.data, c)
			members := formattest.Compress(t, file.data[:1001], c)
			variants["members "+c.String()] = append(members, formattest.Compress(t, file.data[1001:], c)...)
		}
		for variant, data := range variants {
			for way, open := range map[string]func(t *testing.T) Dataset{
				"file":       func(t *testing.T) Dataset { return openData(t, file.spec, []string{writeFile(t, data)}, nil) },
				"reader":     func(t *testing.T) Dataset { return openData(t, file.spec, nil, &slowReader{data}) },
				"redirected": func(t *testing.T) Dataset { return openData(t, file.spec, nil, openedAt(t, data, 0)) },
				"offset":     func(t *testing.T) Dataset { return openData(t, file.spec, []string{"-"}, openedAt(t, data, 77)) },
				"pipe":       func(t *testing.T) Dataset { return openData(t, file.spec, nil, pipeOf(t, data)) },
			} {
				d := open(t)
				if seekable := variant == "" && (way == "file" || way == "redirected" ||
					way == "offset"); seekable != (d.Split(4)[0].Records() == 1250) {
					t.Errorf("%s %s as %s: read at offsets is not %t", name, variant, way, seekable)
				}
				got, err := readByCut(d, 8, 900, 64, 2)
				if err = errors.Join(err, d.Check(noWarning(t))); err != nil || !bytes.Equal(got, plain) {
					t.Errorf("%s %s as %s: %d bytes, error %v", name, variant, way, len(got), err)
				}
			}
		}
	}
}

// openedAt is a file that is open behind its first skip bytes, as a shell leaves it when another
// command has read those.
func openedAt(t *testing.T, data []byte, skip int) *os.File {
	t.Helper()
	f := testfiles.Open(t, writeFile(t, append(make([]byte, skip), data...)), os.O_RDONLY)
	if _, err := f.Seek(int64(skip), io.SeekStart); err != nil {
		t.Fatal(err)
	}
	return f
}

func pipeOf(t *testing.T, data []byte) *os.File {
	t.Helper()
	r, w := testfiles.Pipe(t)
	go func() {
		w.Write(data) // a read error shows in the records
		w.Close()
	}()
	return r
}

// readError opens and reads everything, and returns the first error.
func readError(spec format.Spec, names []string, stdin io.Reader) error {
	if len(names) == 0 {
		names = []string{input.Stdin}
	}
	inputs, err := input.Open(context.Background(), input.Kind{Spec: spec}, input.Named(names...), stdin, window)
	if err != nil {
		return err
	}
	d := NewDataset(inputs)
	defer d.Close()
	_, err = readByCut(d, inputs[0].Header.Layout().RecordSize, 100, 32, 1)
	return errors.Join(err, d.Check(func(string) {}))
}

// noWarning fails a test that is warned.
func noWarning(t testing.TB) func(string) {
	return func(message string) { t.Errorf("there is a warning: %s", message) }
}

// TestInputErrors expects each error to say which file is wrong, and how.
func TestInputErrors(t *testing.T) {
	good, sosd := formattest.Numbered(0, 1000), format.Spec{Format: "sosd", Type: "u64"}
	promise := binary.LittleEndian.AppendUint64(nil, 1000)
	long := append(binary.LittleEndian.AppendUint64(nil, 999), good...)
	for name, c := range map[string]struct {
		spec format.Spec
		data []byte
		want string // in addition to the name of the file
	}{
		"partial record": {words, good[:7997], "5"},
		"one byte":       {words, good[:1], "1"},
		"header only":    {sosd, promise, "0"},
		"cut header":     {sosd, promise[:5], "5 of the 8 bytes"},
		"too few":        {sosd, append(promise, good[8:]...), "999"},
		"too many":       {sosd, long, "999"},
		"not npy":        {format.Spec{Format: "npy"}, good, "not an npy file"},
		"partial npy":    {format.Spec{Format: "npy"}, formattest.Npy(t, "u64", good)[:7000], ""},
	} {
		file := writeFile(t, c.data)
		for way, err := range map[string]error{
			file:             readError(c.spec, []string{file}, nil),
			"standard input": readError(c.spec, nil, bytes.NewReader(c.data)),
			"in": readError(c.spec, []string{writeFile(t, formattest.Compress(t, c.data, format.Gzip))},
				nil),
		} {
			if err == nil || !strings.Contains(err.Error(), way) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, from %s: the error is: %v", name, way, err)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	a, folder := writeFile(t, formattest.Numbered(0, 3)), t.TempDir()
	npy := format.Spec{Format: "npy"}
	header := formattest.Header(t, format.Spec{Format: "npy", Type: "f32"})
	floats := writeFile(t, header.Encode(0))
	numbers := writeFile(t, formattest.Npy(t, "u64", nil))
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"missing":   {readError(words, []string{a, folder + "/no", folder + "/none"}, nil), []string{"/no: ", "/none: "}},
		"folder":    {readError(words, []string{folder}, nil), []string{folder, "is a directory"}},
		"twice":     {readError(words, []string{"-", "-"}, &bytes.Reader{}), []string{"standard input", "more than once"}},
		"different": {readError(npy, []string{numbers, floats}, nil), []string{floats, "<f4"}},
		"spec":      {readError(format.Spec{}, []string{a}, nil), []string{"Record.Type"}},
		"broken": {readError(words, nil, iotest.ErrReader(errors.New("line noise"))), []string{"standard input",
			"line noise"}},
		"broken late": {readError(words, nil, io.MultiReader(bytes.NewReader(formattest.Numbered(0, 1<<18)),
			iotest.ErrReader(errors.New("line noise")))),
			[]string{"standard input at byte 2097152", "line noise"}},
	} {
		for _, want := range c.want {
			if c.err == nil || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%s: the error is: %v, want %q in it", name, c.err, want)
			}
		}
	}
}

// TestChangingFile changes a file's size while it is read: shorter by pages, which the system
// signals as a fault; shorter within its last page, which reads as zeros; and longer, which is a
// warning.
func TestChangingFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be cut there")
	}
	page := os.Getpagesize()
	const pages = 16
	for name, size := range map[string]int{"cut": 2 * page, "cut within the last page": pages*page - 24,
		"grown": pages*page + 8, "emptied": 0} {
		for _, way := range []string{"file", "many files", "redirected"} {
			file := writeFile(t, formattest.Numbered(0, pages*page/8))
			d, shown := openData(t, words, []string{file}, nil), file
			switch way {
			case "many files":
				d = openData(t, words, append([]string{file}, slices.Repeat([]string{writeFile(t, nil)}, input.MaxOpen)...), nil)
			case "redirected":
				f := testfiles.Open(t, file, os.O_RDONLY)
				d, shown = openData(t, words, nil, f), "standard input"
			}
			var warning string
			err := readAround(d, page/8, func() error { return os.Truncate(file, int64(size)) },
				func(message string) { warning = message })
			if size > pages*page {
				if err != nil {
					t.Errorf("%s, %s: %v", name, way, err)
				}
				err = errors.New(warning)
			}
			if err == nil {
				t.Errorf("%s, %s: no error", name, way)
				continue
			}
			text := err.Error()
			if !strings.Contains(text, shown) || size <= 2*page && !strings.Contains(text, " at byte ") {
				t.Errorf("%s, %s: the error is: %v", name, way, err)
			}
			if first, _, _ := strings.Cut(text, "\n"); strings.Count(first, shown) > 1 {
				t.Errorf("%s, %s: the error names the file twice: %v", name, way, first)
			}
		}
	}
}

// TestRewrittenFile overwrites a file, without changing its size, before all of it is read: with
// more inputs than stay open, decompressed, as standard input, and together with a pipe.
func TestRewrittenFile(t *testing.T) {
	data := formattest.Numbered(0, 1<<18)
	packed := formattest.Compress(t, data, format.Zstd)
	for name, c := range map[string]struct {
		data []byte
		open func(name string) Dataset
	}{
		"file": {data, func(name string) Dataset { return openData(t, words, []string{name}, nil) }},
		"many files": {data, func(name string) Dataset {
			return openData(t, words, append([]string{name}, slices.Repeat([]string{writeFile(t, nil)}, input.MaxOpen)...), nil)
		}},
		"compressed": {packed, func(name string) Dataset { return openData(t, words, []string{name}, nil) }},
		"with a pipe": {data, func(name string) Dataset {
			return openData(t, words, []string{name, "-"}, pipeOf(t, data))
		}},
		"redirected": {data, func(name string) Dataset {
			f := testfiles.Open(t, name, os.O_RDONLY)
			return openData(t, words, nil, f)
		}},
	} {
		file := writeFile(t, c.data)
		err := readAround(c.open(file), 1000, func() error { return rewrite(file, c.data) }, noWarning(t))
		if err == nil || !strings.Contains(err.Error(), "the file was written to while it was being read") {
			t.Errorf("%s: the error is: %v", name, err)
		}
	}
}

// TestSequenceEndsTwice reads again after the end of a compressed file, as a caller does that
// fills a buffer.
func TestSequenceEndsTwice(t *testing.T) {
	name := writeFile(t, formattest.Compress(t, formattest.Numbered(0, 10), format.Gzip))
	inputs, err := input.Open(t.Context(), input.Kind{Spec: words}, input.Named(name), nil, window)
	if err != nil {
		t.Fatal(err)
	}
	r := inputs[0].Sequence()
	for range 2 {
		if _, err := io.Copy(io.Discard, r); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(inputs[0].Check(noWarning(t)), inputs[0].Close()); err != nil {
		t.Error(err)
	}
}

// rewrite overwrites a file in place and sets its time one minute later, because the clock of a
// file system can be coarse.
func rewrite(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data[:8], 0)
	later := time.Now().Add(time.Minute)
	return errors.Join(err, f.Close(), os.Chtimes(name, later, later))
}

// TestCompressedFileGrows sorts the content that a compressed file had when it was opened, and
// ignores later growth of a file that has been read.
func TestCompressedFileGrows(t *testing.T) {
	data := formattest.Numbered(0, 1<<18)
	file := writeFile(t, formattest.Compress(t, data, format.Gzip))
	warning := ""
	d := openData(t, words, []string{file}, nil)
	err := readAround(d, 1000, func() error {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.Write(formattest.Compress(t, data, format.Gzip))
		return errors.Join(err, f.Close())
	}, func(message string) { warning = message })
	if err != nil || !strings.Contains(warning, file+": the file grew while it was being read") {
		t.Errorf("the warning is %q, the error %v", warning, err)
	}
	d = openData(t, words, []string{file}, nil)
	if got, err := readByCut(d, 8, 1<<40, 100, 1); err != nil || len(got) != 2*len(data) {
		t.Errorf("%d bytes, want %d; %v", len(got), 2*len(data), err)
	}
	if err := errors.Join(os.Truncate(file, 0), d.Check(noWarning(t))); err != nil {
		t.Errorf("after it was read: %v", err)
	}
}

// TestManyInputs reads more files than stay open, and just as many. Some of them are removed or
// replaced in the meantime.
func TestManyInputs(t *testing.T) {
	for _, n := range []int{input.MaxOpen, input.MaxOpen + 1} {
		var names []string
		var all []byte
		for i := range n {
			data := formattest.Numbered(100*i, 100)
			names, all = append(names, writeFile(t, data)), append(all, data...)
		}
		d := openData(t, words, names, nil)
		if runtime.GOOS != "windows" { // where files that are in use stay
			if err := errors.Join(os.Remove(names[1]), os.Remove(names[2]), os.WriteFile(names[2], []byte("12345678"),
				0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := readByCut(d, 8, 700, 100, 2); err != nil || !bytes.Equal(got, all) {
			t.Errorf("%d inputs: %d of %d bytes, error %v", n, len(got), len(all), err)
		}
		if err := d.Check(noWarning(t)); err != nil {
			t.Errorf("%d inputs: %v", n, err)
		}
	}
}

// readAround reads the first records, then changes something, and reads the rest.
func readAround(d Dataset, first int, change func() error, warn func(string)) error {
	src, err := d.Cut(int64(first))
	if err != nil {
		return err
	}
	if _, err = readSource(src, 8, first, 1); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	_, err = readByCut(d, 8, 1<<40, 100, 2)
	return errors.Join(err, d.Check(warn))
}
