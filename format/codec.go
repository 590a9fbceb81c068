package format

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// Compression is a codec: an index into the table of codecs.
type Compression uint8

// None leaves bytes as they are. The other values of Compression are in the files of their codecs. Each is written to
// the indexes of checkpoints, and so it must not change.
const None Compression = 0

// codecs is the table of compressions. A new one is a file and a row here.
var codecs = []*codec{
	None:  &plainCodec,
	Gzip:  &gzipCodec,
	Zstd:  &zstdCodec,
	S2:    &s2Codec,
	LZ4:   &lz4Codec,
	Bzip2: &bzip2Codec,
	Delta: &deltaCodec,

	Brotli: &brotliCodec,
}

// codec is a compression of inputs, outputs or the blocks of spill files. A part it lacks is nil.
type codec struct {
	name    string   // as flags and reports call it
	aliases []string // other names that ParseCompression reads

	suffix        string   // of the names of files, with its dot; outputs so named are compressed
	otherSuffixes []string // of files from other programs; an output is not written under them

	// detect reports whether a stream that begins with these bytes is compressed so. If it is nil, the bytes tell
	// nothing, and the suffix of the input's name decides.
	detect func(first []byte) bool

	// unreadable describes a variant of the format that reader does not know, if a stream begins as one, else "".
	unreadable func(first []byte) string

	// reader decompresses a stream. It may look back no further than windowBytes; see windowError.
	reader      func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	readerBytes int64                    // its memory, for a window of CommonWindow
	window      func(first []byte) int64 // bytes that a stream looks back to; nil: CommonWindow at most

	// leanReader is a reader that takes less memory, if there is one; leanBytes is the memory of a lean reader without
	// garbage, 0: readerBytes.
	leanReader func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	leanBytes  int64

	// writer compresses a stream with up to that many goroutines.
	writer      func(w io.Writer, workers int) (io.WriteCloser, error)
	writerBytes func(workers int) int64 // its memory

	blocks *blockCodec // of spill files
}

// plainCodec is that of None.
var plainCodec = codec{
	name:        "none",
	reader:      func(r *countingReader, _ int64) (io.ReadCloser, error) { return io.NopCloser(r), nil },
	writer:      func(w io.Writer, _ int) (io.WriteCloser, error) { return nopWriteCloser{w}, nil },
	writerBytes: func(int) int64 { return 0 },
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// perWorker returns the memory of a writer that takes base bytes and more for each of its workers.
func perWorker(base, each int64) func(workers int) int64 {
	return func(workers int) int64 { return base + int64(workers)*each }
}

// foreignSuffixes are those of compressions that have no codec. An output is not written under them.
var foreignSuffixes = []string{".xz", ".Z", ".lzma", ".lz", ".lzo", ".7z", ".zip"}

// String returns the name of the codec, as flags and reports show it.
func (c Compression) String() string { return codecs[c].name }

// namesOf returns the names of the codecs that have something, with their aliases if those are wanted.
func namesOf(has func(*codec) bool, aliases bool) []string {
	var names []string
	for _, c := range codecs {
		if !has(c) {
			continue
		}
		names = append(names, c.name)
		if aliases {
			names = append(names, c.aliases...)
		}
	}
	return names
}

func (c *codec) isRead() bool    { return c.reader != nil }
func (c *codec) isWritten() bool { return c.writer != nil }

// Compressions returns the names that ParseCompression reads.
func Compressions() []string { return namesOf((*codec).isWritten, true) }

// CompressionSuffixes returns the suffixes by which ParseCompression chooses a codec.
func CompressionSuffixes() []string {
	var suffixes []string
	for _, c := range codecs {
		if c.isWritten() && c.suffix != "" {
			suffixes = append(suffixes, c.suffix)
		}
	}
	return suffixes
}

// Decompressions returns the values that Recognition.Decompress may have.
func Decompressions() []string { return append([]string{"auto"}, namesOf((*codec).isRead, false)...) }

// find returns the first codec for which is returns true, else None.
func find(is func(*codec) bool) Compression { return Compression(max(slices.IndexFunc(codecs, is), 0)) }

// ParseCompression returns the codec of an output: that called s or, if s is empty, that of the suffix of a file's
// name, else None. A suffix that promises a codec that cannot be written is an error.
func ParseCompression(s, name string) (Compression, error) {
	if s != "" {
		if !slices.Contains(Compressions(), s) {
			known := namesOf((*codec).isWritten, false)
			return None, option.Errorf(option.Compress, " %q: use %s", s, english.WordSeries(known, "or"))
		}
		return find(func(c *codec) bool { return c.name == s || slices.Contains(c.aliases, s) }), nil
	}
	suffix := filepath.Ext(name)
	if suffix == "" {
		return None, nil
	}
	c := find(func(c *codec) bool { return c.suffix == suffix })
	if c == None && isCompressionSuffix(suffix) || !codecs[c].isWritten() {
		return None, option.Errorf(option.Output, " %s: nothing is written as %s: use %s, or %v none to "+
			"write it uncompressed under that name", name, suffix, codecs[Zstd].suffix, option.Compress)
	}
	return c, nil
}

// isCompressionSuffix reports whether files with this suffix are compressed, also by what has no codec.
func isCompressionSuffix(suffix string) bool {
	return slices.Contains(foreignSuffixes, suffix) || slices.ContainsFunc(codecs, func(c *codec) bool {
		return suffix != "" && c.suffix == suffix || slices.Contains(c.otherSuffixes, suffix)
	})
}

// Detect returns the codec of a stream by its first bytes. Records may begin with any bytes, so each codec checks as
// much as its format fixes: uniform random data is mistaken for gzip once in about 2^36 files, and for zstd once in
// 2^28.
func Detect(first []byte) Compression {
	return find(func(c *codec) bool { return c.detect != nil && c.detect(first) })
}

// detectByName returns the codec of an input by the suffix of its name, where its bytes can be anything. The name may
// be a URL.
func detectByName(name string) Compression {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "?")
	}
	suffix := filepath.Ext(name)
	return find(func(c *codec) bool { return c.detect == nil && c.isRead() && suffix != "" && c.suffix == suffix })
}

// NewReader decompresses r, members or frames one after the other. Its errors contain the compressed offset. Its memory
// is that of CodecMemory, plus what the window of the stream exceeds CommonWindow by. A window of more than windowBytes
// is an error. Closing the reader does not close r.
//
// A stream that is cut short is an error. But s2 and Snappy streams that something else wrote do not say where they
// end: they look complete if they are cut between two of their blocks. Those of NewWriter have an end of their own.
//
// Where the stream is not what c says, the error names the flag with which a stream that was mistaken for a compressed
// one is read as it is.
func NewReader(r io.Reader, c Compression, windowBytes int64) io.ReadCloser {
	if c == None {
		return io.NopCloser(r)
	}
	return &decompressor{source: countingReader{r: r}, codec: codecs[c], windowBytes: windowBytes}
}

type decompressor struct {
	source      countingReader
	codec       *codec
	windowBytes int64
	plain       io.ReadCloser // nil until the first Read
	begun       bool          // something was decompressed
	err         error         // sticks
	lean        bool          // see Economize
	given       int64         // bytes that were read
	passed      int64         // bytes to pass over, see Suspend
}

type countingReader struct {
	r     io.Reader
	n     int64
	ended bool
	err   error // other than io.EOF
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.ended = err == io.EOF; !c.ended {
		c.err = err
	}
	return n, err
}

func (d *decompressor) Read(p []byte) (n int, err error) {
	if d.err == nil && d.plain == nil {
		d.plain, err = d.newPlain()
		d.err = d.explain(err)
	}
	if d.err == nil && d.passed > 0 {
		d.err = d.explain(d.passOver())
	}
	if d.err == nil {
		n, err = d.plain.Read(p)
		d.given += int64(n)
		d.begun = d.begun || n > 0
		d.err = d.explain(err)
	}
	return n, d.err
}

// windowError is the error of a stream that looks back further than it may.
type windowError struct{ error }

func (e *windowError) Unwrap() error { return e.error }

// errTrailing is the error of a stream followed by something else.
var errTrailing = errors.New("other bytes follow the compressed ones: decompress it first")

// explain says where decompression failed, and what to do unless the source did.
func (d *decompressor) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if _, tooFar := errors.AsType[*windowError](err); tooFar {
		err = fmt.Errorf("it needs a window of more than %d MiB; decompress it first, or raise %v: %w",
			d.windowBytes>>20, option.MemoryBytes, err)
	}
	cutShort := errors.Is(err, io.ErrUnexpectedEOF)
	if cutShort {
		err = fmt.Errorf("it was cut short or is damaged, get a complete copy: %w", err)
	}
	hint := ""
	if d.source.err == nil && !d.isCertain(cutShort, err) {
		hint = fmt.Sprintf(" (if this is not %v: %v none)", d.codec.name, option.Decompress)
	}
	return fmt.Errorf("decompress %v near compressed byte %d: %w%s", d.codec.name, d.source.n, err, hint)
}

// isCertain reports whether the stream is of the codec in spite of its error. Any bytes may look like the beginning
// of one that has no magic number.
func (d *decompressor) isCertain(cutShort bool, err error) bool {
	return d.codec.detect != nil && (cutShort && d.begun || errors.Is(err, errTrailing))
}

func (d *decompressor) Close() error {
	if d.plain != nil {
		d.plain.Close() // it repeats an error of Read
	}
	return nil
}

// NewWriter compresses to w with up to workers goroutines. The stream is complete once it is closed; w stays
// open. The bytes of gzip and brotli do not depend on workers; those of zstd and s2 decompress to the same. A codec
// that is not written is an error.
func NewWriter(w io.Writer, c Compression, workers int) (io.WriteCloser, error) {
	if !codecs[c].isWritten() {
		return nil, fmt.Errorf("compress by %v: %w", c, errors.ErrUnsupported)
	}
	return codecs[c].writer(w, max(workers, 1))
}

// CommonWindow is what zstd's levels up to 19 look back to at most, and what CodecMemory counts for a reader.
const CommonWindow = 8 << 20

// Window is how far the first frame of a stream that begins with first looks back, no less than CommonWindow.
func Window(c Compression, first []byte) int64 {
	if codecs[c].window == nil {
		return CommonWindow
	}
	return max(codecs[c].window(first), CommonWindow)
}

// CodecMemory is an upper estimate, in bytes, of what a codec holds, garbage included: for a NewWriter with so many
// workers, or (workers 0) for a NewReader of a stream with a CommonWindow: a larger one takes that much more.
func CodecMemory(c Compression, workers int) int64 {
	if workers == 0 {
		return codecs[c].readerBytes
	}
	if !codecs[c].isWritten() {
		return 0
	}
	return codecs[c].writerBytes(workers)
}
