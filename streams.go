package extsort

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/extsort/extsort/internal/guard"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/merge/output"
)

// An Input is one or more files or streams, which are read one after another: first Paths, then
// Reader, then Sources. All of them contain records of the same layout. At least one of these three
// fields must be set.
type Input struct {
	Paths   []string  // names of files, or URLs if a driver for them is imported
	Reader  io.Reader // a stream, for example os.Stdin
	Sources []Source  // files and streams with more properties

	// HeaderBytes is the length of a header before the records of each input, and TrailerBytes the
	// number of bytes after them. Records is the number of records in each input: the bytes after
	// them are skipped, too. By default, all bytes are records. Offsets in reports and errors do
	// not count the header. See Output.KeepHeader.
	HeaderBytes  int64
	TrailerBytes int64
	Records      int64

	// Compression is the compression of the inputs. By default, it is detected, except for brotli,
	// which is detected by the suffix .br of a path. Offsets in reports and errors refer to the
	// decompressed bytes.
	Compression Compression

	// Raw declares that the inputs are plain records, even if they look like files of another
	// format. Without Raw, an input that looks like a file of a known format is an error, unless
	// Record.Format names that format.
	Raw bool

	// Part selects one of several equal parts of the records of all inputs: by position for a sort
	// or a check, and by key for a merge. All inputs must be files or implement io.ReaderAt.
	Part Part
}

// A Source is one input. Set exactly one of Path, Reader and ReaderAt. The functions of this
// package do not close readers.
type Source struct {
	Path string // the name of a file, or a URL if a driver for it is imported

	// Reader is read once, sequentially. If it is not an *os.File, one Read may still be blocked
	// after a cancelled call has returned.
	Reader io.Reader

	// ReaderAt contains Size bytes. Several goroutines read it concurrently, at any offset, and may
	// read bytes more than once.
	ReaderAt io.ReaderAt
	Size     int64

	Name    string // the name of a Reader or ReaderAt in errors; "": its field
	Version string // identifies the contents of a ReaderAt, which a checkpoint needs
}

// A Part is one of Count equal parts, counted from 0. The sizes of the parts differ by at most one
// record. The zero Part selects everything.
type Part struct {
	Index int64
	Count int64
}

// An Output is a file, a stream or a [Sink]. Set exactly one of Path, Writer and Sink.
type Output struct {
	// Path is the name of a file. The file appears completely or not at all, even after a crash,
	// and may replace an input. Path may also be a URL if a driver for it is imported.
	Path string

	Writer io.Writer // receives the output in order, for example os.Stdout
	Sink   Sink      // receives the output in order, and completes or discards it at the end

	// Compression is the compression of the output. By default, the suffix of Path selects it (.gz,
	// .zst, .s2 or .br).
	Compression Compression

	// SplitFiles or SplitBytes split the output into several files (Path.000, Path.001 …), so that
	// records with equal keys are in the same file. The file Path.index lists their first keys.
	// Either all files appear or none. Set at most one of the two.
	SplitFiles int   // the number of files, with about the same number of records each; at most 10,000
	SplitBytes int64 // the size of each file before compression; a file may exceed it to keep equal keys together

	// KeepHeader copies the header and the trailer of the first input (Input.HeaderBytes,
	// TrailerBytes, Records) to the output. Each may be up to 1 MiB long.
	KeepHeader bool
}

// A Sink is a custom output, for example an upload.
type Sink interface {
	// Write receives the bytes of the output in order. It is never called concurrently. A cancelled
	// call does not wait for a slow Write, so the Write may outlive the call.
	io.Writer

	// Commit completes the output after the last Write. It should return soon after ctx is
	// cancelled.
	Commit(ctx context.Context) error

	// Abort discards the output after an error, including an error of Commit, even if nothing was
	// written.
	Abort() error
}

// CreateFile creates a file for programs that convert the records of a sort to another format. The
// file appears completely under its name when Commit returns, or not at all, even after a crash. If
// it replaces a file, it keeps the permissions of the old file, which can be read until then. The
// Sink must be committed or aborted. After an error of Write, Commit returns this error and discards
// the file.
func CreateFile(ctx context.Context, path string) (Sink, error) {
	out, err := output.Open(ctx, path, output.FileOptions{})
	if err != nil {
		return nil, publicErrors(err)
	}
	return &fileSink{Output: out}, nil
}

// fileSink is the Sink of CreateFile.
type fileSink struct {
	output.Output
	failed error // the first error of Write: bytes are missing
}

func (s *fileSink) Write(p []byte) (int, error) {
	n, err := s.Output.Write(p)
	if s.failed == nil {
		s.failed = err
	}
	return n, err
}

func (s *fileSink) Commit(ctx context.Context) error {
	if s.failed != nil {
		return publicErrors(errors.Join(s.failed, s.Output.Abort()))
	}
	return publicErrors(s.Output.Commit(ctx, -1))
}

// A Compression is the compression of files. The zero value detects the compression of inputs, and
// selects the compression of an output by the suffix of its path. Inputs may also have the
// compressions "lz4" and "bzip2".
type Compression string

// The compressions. CompressionBrotli requires an import; see the package documentation.
const (
	CompressionNone   Compression = "none"
	CompressionGzip   Compression = "gzip"
	CompressionZstd   Compression = "zstd"
	CompressionS2     Compression = "s2" // inputs also snappy
	CompressionBrotli Compression = "brotli"
)

// apply sets the options of the input.
func (in *Input) apply(opt *session.Options) (faults []error) {
	for i, path := range in.Paths {
		faults = appendError(faults, checkInputPath(fmt.Sprintf("Input.Paths[%d]", i), path))
		opt.Sources = append(opt.Sources, session.Source{Name: path})
	}
	if in.Reader != nil {
		source := Source{Reader: in.Reader}
		opt.Sources = append(opt.Sources, source.translate("Input.Reader"))
	}
	for i, source := range in.Sources {
		name := fmt.Sprintf("Input.Sources[%d]", i)
		faults = appendError(faults, source.check(name))
		opt.Sources = append(opt.Sources, source.translate(name))
	}
	if len(opt.Sources) == 0 {
		faults = append(faults, optionErrorf("Input", "is empty: set Input.Paths, Input.Reader or Input.Sources"))
	}
	if in.Records == session.NoRecords { // the session would interpret it specially
		faults = append(faults, optionErrorf("Input.Records", "%d: must not be negative", in.Records))
	}

	opt.SkipBytes = in.HeaderBytes
	opt.SkipTail = in.TrailerBytes
	opt.Records = in.Records
	opt.Decompress = string(in.Compression)
	opt.Raw = in.Raw
	opt.Part = session.Part{K: in.Part.Index, N: in.Part.Count}
	return faults
}

func appendError(all []error, err error) []error {
	if err == nil {
		return all
	}
	return append(all, err)
}

// checkInputPath rejects paths that other programs treat as standard input.
func checkInputPath(option, path string) error {
	switch path {
	case "":
		return optionErrorf(option, "is empty")
	case "-":
		return optionErrorf(option, `"-" is not a file: pass os.Stdin as Input.Reader, or use ./-`)
	}
	return nil
}

func (s *Source) check(option string) error {
	set := 0
	for _, isSet := range []bool{s.Path != "", s.Reader != nil, s.ReaderAt != nil} {
		if isSet {
			set++
		}
	}
	switch {
	case set != 1:
		return optionErrorf(option, "has %d of Path, Reader and ReaderAt: set exactly one", set)
	case s.Path != "":
		return checkInputPath(option+".Path", s.Path)
	case s.ReaderAt != nil && s.Size < 0:
		return optionErrorf(option+".Size", "%d: must not be negative", s.Size)
	}
	return nil
}

// translate returns the session's form of the source, with a name for messages.
func (s *Source) translate(option string) session.Source {
	name := s.Name
	switch file, isFile := s.Reader.(*os.File); {
	case s.Path != "":
		name = s.Path
	case name == "" && isFile && file != nil:
		name = file.Name()
	case name == "":
		name = option
	}
	return session.Source{
		Name:    name,
		At:      guard.ReaderAt(s.ReaderAt, option),
		Size:    s.Size,
		Version: s.Version,
		Reader:  guard.Reader(s.Reader, option),
	}
}

// apply sets the options of the output.
func (out *Output) apply(opt *session.Options) (faults []error) {
	var set []string
	if out.Path != "" {
		set = append(set, "Output.Path")
	}
	if out.Writer != nil {
		set = append(set, "Output.Writer")
	}
	if out.Sink != nil {
		set = append(set, "Output.Sink")
	}
	switch {
	case len(set) == 0:
		faults = append(faults, optionErrorf("Output", "is empty: set Output.Path, Output.Writer or Output.Sink"))
	case len(set) > 1:
		faults = append(faults, optionErrorf("Output", "has both %s and %s: set exactly one", set[0], set[1]))
	case out.Path == "-":
		faults = append(faults, optionErrorf("Output.Path",
			`"-" is not a file: pass os.Stdout as Output.Writer, or use ./-`))
	}

	opt.Output = out.Path
	opt.Stdout = guard.Writer(out.Writer, "Output.Writer")
	if out.Sink != nil {
		opt.Sink = guard.NewSink(out.Sink, "Output.Sink")
	}
	opt.Compress = string(out.Compression)
	opt.SplitFiles = out.SplitFiles
	opt.SplitBytes = out.SplitBytes
	opt.KeepHeader = out.KeepHeader
	return faults
}

// forbid reports each field that is set.
func (in *Input) forbid(why string) []error {
	set := len(
		in.Paths,
	)+len(in.Sources) > 0 || in.Reader != nil || in.Part != Part{} || in.Raw || in.Compression != "" ||
		in.HeaderBytes != 0 || in.TrailerBytes != 0 || in.Records != 0
	if !set {
		return nil
	}
	return []error{optionErrorf("Input", "must be empty: %s", why)}
}

// forbid reports an output that is set.
func (out *Output) forbid(why string) []error {
	if *out == (Output{}) {
		return nil
	}
	return []error{optionErrorf("Output", "must be empty: %s", why)}
}
