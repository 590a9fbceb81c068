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

// A Compression identifies a codec. It is an index into the table of codecs.
type Compression uint8

// None leaves bytes unchanged. The other values of Compression are in the files of their codecs.
// The values are written to checkpoints, so they must not change.
const None Compression = 0

// codecs is the table of compressions. A new codec is a file and a row here.
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

// A codec is a compression for inputs, outputs or the blocks of spill files. Functions that it
// does not support are nil.
type codec struct {
	name    string   // as used in flags and reports
	aliases []string // other names that ParseCompression accepts

	suffix string // suffix of file names, with its dot; selects the codec for outputs
	// otherSuffixes are used by other programs. No output is written under them.
	otherSuffixes []string

	// detect reports whether a stream that begins with these bytes is compressed with this codec.
	// If it is nil, the codec cannot be detected, and the suffix of the input's name decides.
	detect func(first []byte) bool

	// unreadable describes a variant of the format that reader does not support, if the stream
	// begins like one; otherwise it returns "".
	unreadable func(first []byte) string

	// reader decompresses a stream whose window is at most windowBytes; see windowError.
	reader      func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	readerBytes int64 // its memory, for a window of CommonWindow
	// window size of a stream in bytes; nil means at most CommonWindow
	window func(first []byte) int64

	// leanReader is a reader that needs less memory, if there is one. leanBytes is its memory
	// without garbage; 0 means readerBytes.
	leanReader func(source *countingReader, windowBytes int64) (io.ReadCloser, error)
	leanBytes  int64

	// writer compresses a stream with up to the given number of goroutines.
	writer      func(w io.Writer, workers int) (io.WriteCloser, error)
	writerBytes func(workers int) int64 // its memory

	blocks *blockCodec // compresses blocks of spill files
}

// plainCodec is the codec of None.
var plainCodec = codec{
	name: "none",
	reader: func(r *countingReader, _ int64) (io.ReadCloser, error) {
		return io.NopCloser(r), nil
	},
	writer: func(w io.Writer, _ int) (io.WriteCloser, error) {
		return nopWriteCloser{w}, nil
	},
	writerBytes: func(int) int64 { return 0 },
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

// perWorker returns the memory function of a writer that needs base bytes, plus each bytes per
// worker.
func perWorker(base, each int64) func(workers int) int64 {
	return func(workers int) int64 { return base + int64(workers)*each }
}

// foreignSuffixes belong to compressions without a codec. No output is written under them.
var foreignSuffixes = []string{".xz", ".Z", ".lzma", ".lz", ".lzo", ".7z", ".zip"}

// String returns the name of the codec, as used in flags and reports.
func (c Compression) String() string { return codecs[c].name }

// namesOf returns the names of the codecs for which has returns true, with or without their
// aliases.
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

// Compressions returns the names that ParseCompression accepts.
func Compressions() []string {
	return namesOf((*codec).isWritten, true)
}

// CompressionSuffixes returns the suffixes for which ParseCompression chooses a codec.
func CompressionSuffixes() []string {
	var suffixes []string
	for _, c := range codecs {
		if c.isWritten() && c.suffix != "" {
			suffixes = append(suffixes, c.suffix)
		}
	}
	return suffixes
}

// Decompressions returns the valid values of Recognition.Decompress.
func Decompressions() []string {
	return append([]string{"auto"}, namesOf((*codec).isRead, false)...)
}

// findCodec returns the first codec for which match returns true, or None.
func findCodec(match func(*codec) bool) Compression {
	return Compression(max(slices.IndexFunc(codecs, match), 0))
}

// ParseCompression returns the codec of an output: the one named s or, if s is empty, the one for
// the suffix of the file name, or None. It is an error if the suffix belongs to a codec that
// cannot be written.
func ParseCompression(s, name string) (Compression, error) {
	if s != "" {
		if !slices.Contains(Compressions(), s) {
			known := namesOf((*codec).isWritten, false)
			return None, option.Errorf(
				option.Compress,
				" %q: use %s",
				s,
				english.WordSeries(known, "or"),
			)
		}
		return findCodec(func(c *codec) bool {
			return c.name == s || slices.Contains(c.aliases, s)
		}), nil
	}

	suffix := filepath.Ext(name)
	if suffix == "" {
		return None, nil
	}
	c := findCodec(func(c *codec) bool { return c.suffix == suffix })
	if c == None && isCompressionSuffix(suffix) || !codecs[c].isWritten() {
		return None, option.Errorf(
			option.Output,
			" %s: extsort cannot write %s: use %s, or %v none to "+
				"write it uncompressed under that name",
			name, suffix, codecs[Zstd].suffix, option.Compress,
		)
	}
	return c, nil
}

// isCompressionSuffix reports whether files with this suffix are compressed, even if there is no
// codec for them.
func isCompressionSuffix(suffix string) bool {
	return slices.Contains(foreignSuffixes, suffix) ||
		slices.ContainsFunc(codecs, func(c *codec) bool {
			return suffix != "" && c.suffix == suffix ||
				slices.Contains(c.otherSuffixes, suffix)
		})
}

// Detect returns the codec of a stream with the given first bytes. Records may begin with any
// bytes, so each codec checks as much as its format specifies. Uniformly random data is mistaken
// for gzip in about one file in 2^36, and for zstd in one file in 2^28.
func Detect(first []byte) Compression {
	return findCodec(func(c *codec) bool {
		return c.detect != nil && c.detect(first)
	})
}

// detectByName returns the codec of an input by the suffix of its name, for codecs whose streams
// may begin with any bytes. The name may be a URL.
func detectByName(name string) Compression {
	if strings.Contains(name, "://") {
		name, _, _ = strings.Cut(name, "?")
	}
	suffix := filepath.Ext(name)
	return findCodec(func(c *codec) bool {
		return c.detect == nil && c.isRead() && suffix != "" &&
			c.suffix == suffix
	})
}

// NewReader returns a reader that decompresses r, which may consist of several members or frames.
// Its errors contain the offset in the compressed stream. It needs the memory given by
// CodecMemory, plus the amount by which the window of the stream exceeds CommonWindow. A window
// of more than windowBytes is an error. Closing the reader does not close r.
//
// A truncated stream is an error. However, s2 and Snappy streams of other programs do not mark
// their ends, so truncation between two blocks goes unnoticed. Streams of NewWriter do mark their
// ends.
//
// If the stream is not valid, the error names the flag for reading an input that was mistaken for
// a compressed one.
func NewReader(r io.Reader, c Compression, windowBytes int64) io.ReadCloser {
	if c == None {
		return io.NopCloser(r)
	}
	return &decompressor{
		source:      countingReader{r: r},
		codec:       codecs[c],
		windowBytes: windowBytes,
	}
}

type decompressor struct {
	source        countingReader
	codec         *codec
	windowBytes   int64
	plain         io.ReadCloser // nil until the first Read
	begun         bool          // some data was decompressed
	err           error         // permanent
	lean          bool          // see Economize
	returnedBytes int64         // number of bytes returned
	bytesToSkip   int64         // number of bytes to skip; see Suspend
}

type countingReader struct {
	r     io.Reader
	n     int64
	ended bool
	err   error // an error other than io.EOF
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

	if d.err == nil && d.bytesToSkip > 0 {
		d.err = d.explain(d.skipPassed())
	}
	if d.err == nil {
		n, err = d.plain.Read(p)
		d.returnedBytes += int64(n)
		d.begun = d.begun || n > 0
		d.err = d.explain(err)
	}

	return n, d.err
}

// A windowError reports a stream whose window is too large.
type windowError struct{ error }

func (e *windowError) Unwrap() error { return e.error }

// errTrailing reports data after the end of a compressed stream.
var errTrailing = errors.New(
	"other bytes follow the compressed data: decompress it first",
)

// explain adds the position to an error and, unless the source caused the error, advice.
func (d *decompressor) explain(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	_, tooFar := errors.AsType[*windowError](err)
	if tooFar {
		err = fmt.Errorf(
			"it needs a window of more than %d MiB; decompress it first, or raise %v: %w",
			d.windowBytes>>20, option.MemoryBytes, err,
		)
	}
	cutShort := errors.Is(err, io.ErrUnexpectedEOF)
	if cutShort {
		err = fmt.Errorf(
			"it was cut short or is damaged, get a complete copy: %w", err,
		)
	}
	hint := ""
	if d.source.err == nil && !d.isCertain(cutShort, err) {
		hint = fmt.Sprintf(
			" (if this is not %v: %v none)", d.codec.name, option.Decompress,
		)
	}
	return fmt.Errorf(
		"decompress %v near compressed byte %d: %w%s", d.codec.name, d.source.n, err, hint,
	)
}

// isCertain reports whether the stream certainly belongs to the codec, in spite of its error. Any
// data may look like the beginning of a stream without a magic number.
func (d *decompressor) isCertain(cutShort bool, err error) bool {
	return d.codec.detect != nil &&
		(cutShort && d.begun || errors.Is(err, errTrailing))
}

func (d *decompressor) Close() error {
	if d.plain != nil {
		d.plain.Close() // Read has already returned its error
	}
	return nil
}

// NewWriter returns a writer that compresses to w with up to workers goroutines. The stream is
// complete after the writer is closed; w stays open. The output of gzip and brotli does not
// depend on workers. The output of zstd and s2 does, but decompresses to the same data. It is an
// error if the codec cannot be written.
func NewWriter(
	w io.Writer,
	c Compression,
	workers int,
) (io.WriteCloser, error) {
	if !codecs[c].isWritten() {
		return nil, fmt.Errorf("compress with %v: %w", c, errors.ErrUnsupported)
	}
	return codecs[c].writer(w, max(workers, 1))
}

// CommonWindow is the maximum window size of zstd's levels up to 19. CodecMemory assumes it for a
// reader.
const CommonWindow = 8 << 20

// StreamWindowBytes returns the window size of the first frame of a stream in bytes, but at least
// CommonWindow.
func StreamWindowBytes(c Compression, first []byte) int64 {
	if codecs[c].window == nil {
		return CommonWindow
	}
	return max(codecs[c].window(first), CommonWindow)
}

// CodecMemory returns an upper estimate of the memory of a codec in bytes, including garbage: for
// a NewWriter with the given number of workers or, if workers is 0, for a NewReader of a stream
// with a window of CommonWindow. A larger window needs correspondingly more.
func CodecMemory(c Compression, workers int) int64 {
	if workers == 0 {
		return codecs[c].readerBytes
	}
	if !codecs[c].isWritten() {
		return 0
	}
	return codecs[c].writerBytes(workers)
}
