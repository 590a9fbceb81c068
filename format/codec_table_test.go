package format

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// toyMagic begins each stream of the toy codec, in which all bits are inverted. A zero byte ends it.
const toyMagic = "TOY!"

var toyCodec = codec{
	name:          "toy",
	aliases:       []string{"t"},
	suffix:        ".toy",
	otherSuffixes: []string{".toys"},
	detect:        func(first []byte) bool { return matches(first, toyMagic) },
	unreadable: func(first []byte) string {
		if matches(first, "TOY?") && !matches(first, toyMagic) {
			return "of another version"
		}
		return ""
	},
	reader:      func(r *countingReader, _ int64) (io.ReadCloser, error) { return io.NopCloser(&toyReader{r: r}), nil },
	readerBytes: 3 << 20,
	window:      func([]byte) int64 { return 10 << 20 },
	writer:      func(w io.Writer, _ int) (io.WriteCloser, error) { return &toyWriter{w: w}, nil },
	writerBytes: perWorker(1<<20, 1<<10),
	blocks: &blockCodec{
		open:       func(Layout, int) blockCoder { return toyBlocks{} },
		maxBytes:   func(n int) int { return n + 1 },
		coderBytes: func(int) int { return 100 },
		decodeCost: 2,
		trial:      3,
	},
}

func inverted(p []byte) []byte {
	out := slices.Clone(p)
	for i := range out {
		out[i] ^= 0xff
	}
	return out
}

type toyWriter struct {
	w     io.Writer
	begun bool
}

func (z *toyWriter) Write(p []byte) (int, error) {
	if !z.begun {
		z.begun = true
		if _, err := io.WriteString(z.w, toyMagic); err != nil {
			return 0, err
		}
	}
	return z.w.Write(inverted(p))
}

func (z *toyWriter) Close() error {
	_, err := z.w.Write([]byte{0})
	return err
}

type toyReader struct {
	r     io.Reader
	plain *bytes.Reader
}

func (z *toyReader) Read(p []byte) (int, error) {
	if z.plain == nil {
		stream, err := io.ReadAll(z.r)
		if err != nil {
			return 0, err
		}
		body, begun := bytes.CutPrefix(stream, []byte(toyMagic))
		body, ended := bytes.CutSuffix(body, []byte{0})
		if !begun || !ended {
			return 0, io.ErrUnexpectedEOF
		}
		z.plain = bytes.NewReader(inverted(body))
	}
	return z.plain.Read(p)
}

type toyBlocks struct{}

func (toyBlocks) compress(dst, src []byte) []byte {
	n := copy(dst, inverted(src))
	dst[n] = 0
	return dst[:n+1]
}

func (toyBlocks) decompress(dst, src []byte) ([]byte, error) {
	body, ended := bytes.CutSuffix(src, []byte{0})
	if !ended || len(body) > len(dst) {
		return nil, errors.New("damaged or too large")
	}
	return dst[:copy(dst, inverted(body))], nil
}

// register adds a codec to the table for the time of a test.
func register(t *testing.T, c *codec) Compression {
	t.Helper()
	before := codecs
	codecs = append(slices.Clone(codecs), c)
	t.Cleanup(func() { codecs = before })
	return Compression(len(before))
}

// TestACodecIsARow registers a codec and uses all that a codec has. It changes no other file.
func TestACodecIsARow(t *testing.T) {
	toy := register(t, &toyCodec)
	data := []byte("something to compress\x00\xff")

	stream := compressed(t, toy, 1, data)
	if !bytes.HasPrefix(stream, []byte(toyMagic)) || Detect(stream) != toy {
		t.Errorf("%q is detected as %v", stream, Detect(stream))
	}
	if got, err := decompressed(toy, bytes.NewReader(stream)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q is decompressed to %q, %v", stream, got, err)
	}
	_, err := decompressed(toy, bytes.NewReader(stream[:6]))
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "decompress toy near compressed byte 6: ") {
		t.Errorf("a stream that was cut short: %v", err)
	}

	for _, asked := range [][2]string{{"toy", "x.gz"}, {"t", ""}, {"", "a.b.toy"}} {
		if c, err := ParseCompression(asked[0], asked[1]); c != toy || err != nil {
			t.Errorf("%q: %v, %v", asked, c, err)
		}
	}
	if _, err := ParseCompression("", "x.toys"); err == nil {
		t.Error("an output is written under a suffix of other programs")
	}
	if !slices.Contains(Compressions(), "t") || !slices.Contains(CompressionSuffixes(), ".toy") ||
		!slices.Contains(Decompressions(), "toy") || !slices.Contains(BlockCompressions(), "toy") {
		t.Error("a list of names lacks it")
	}
	for _, err := range []error{
		errorOf(ParseCompression("tay", "")), Recognition{Decompress: "tay"}.Validate(Spec{Type: "u8"}),
	} {
		if err == nil || !strings.Contains(err.Error(), " or toy") {
			t.Errorf("a wrong name is answered by %v", err)
		}
	}
	if c := (Recognition{Decompress: "toy"}).Compression("x", nil); c != toy {
		t.Errorf("--decompress toy is %v", c)
	}
	err = Recognition{}.CheckPacked([]byte("TOY2"))
	if err == nil || !strings.Contains(err.Error(), "another version") {
		t.Errorf("a variant that cannot be read: %v", err)
	}

	if CodecMemory(toy, 0) != 3<<20 || CodecMemory(toy, 2) != 1<<20+2<<10 || StreamWindowBytes(toy, nil) != 10<<20 ||
		BlockMemory(toy, 2, 1000) != 2*(1000+1+100)*3/2 {
		t.Error("its memory is not that of its row")
	}
	if tried := TrialCompressions(); tried[len(tried)-1] != toy || toy.DecodeCost() != 2 || toy.Packs() {
		t.Errorf("auto tries %v", tried)
	}
	checkBlockOf(t, NewBlockCoder(Bare(Type{Kind: Unsigned, Size: 1}), 2), toy, data)
}

func errorOf(_ Compression, err error) error { return err }

// TestInputsAreDetectedBySuffix has a codec whose streams may begin with any bytes.
func TestInputsAreDetectedBySuffix(t *testing.T) {
	quiet := toyCodec
	quiet.detect = nil
	toy := register(t, &quiet)
	for name, want := range map[string]Compression{
		"x.toy": toy, filepath.Join("a.b", "c.toy"): toy, "s3://bucket/x.toy": toy, "http://host/x.toy?version=1.2": toy,
		"x": None, "toy": None, "": None, "x.toy.bin": None, "x.gz": None, "x.toys": None,
	} {
		if got := (Recognition{}).Compression(name, []byte(toyMagic)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (Recognition{}).Compression("x.toy", []byte("\x28\xb5\x2f\xfd\x00")); got != Zstd {
		t.Errorf("the magic number of zstd under another suffix: %v", got)
	}
	for _, r := range []Recognition{{Raw: true}, {Decompress: "none"}} {
		if got := r.Compression("x.toy", nil); got != None {
			t.Errorf("%+v: %v", r, got)
		}
	}
	stream := compressed(t, toy, 1, []byte("some data"))
	_, err := decompressed(toy, bytes.NewReader(stream[:6]))
	if err == nil || !strings.Contains(err.Error(), "(if this is not toy: Options.Decompress none)") {
		t.Errorf("what may be no stream at all: %v", err)
	}
}

// TestTableOfCodecs checks that the rows of the table are consistent.
func TestTableOfCodecs(t *testing.T) {
	seen := map[string]string{}
	unique := func(name, word string) {
		if other, found := seen[word]; found {
			t.Errorf("%s and %s share %q", name, other, word)
		}
		seen[word] = name
	}
	for i, c := range codecs {
		for _, word := range slices.Concat([]string{c.name}, c.aliases, c.otherSuffixes) {
			unique(c.name, word)
		}
		if c.suffix != "" {
			unique(c.name, c.suffix)
		}
		if (c.writer == nil) != (c.writerBytes == nil) {
			t.Errorf("%s has a writer or its memory, not both", c.name)
		}
		if Compression(i) != None && c.isRead() && c.readerBytes == 0 {
			t.Errorf("%s: the memory of its reader is missing", c.name)
		}
		if c.isRead() && Compression(i) != None && c.detect == nil && c.suffix == "" {
			t.Errorf("%s: no input can be recognised", c.name)
		}
		if c.isWritten() && !c.isRead() {
			t.Errorf("%s is written and not read", c.name)
		}
	}
	for _, suffix := range foreignSuffixes {
		unique("a foreign compression", suffix)
	}
}
