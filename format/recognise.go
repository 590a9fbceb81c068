package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// DetectBytes is the number of bytes that Detect and Recognition need from the beginning of a
// stream. A shorter stream is passed whole. A tar archive has its magic at byte 257, and
// recognizing text takes several lines.
const DetectBytes = 512

// A Recognition says how to recognize inputs by their first bytes. The zero value recognizes all
// known formats.
type Recognition struct {
	Raw bool // recognize nothing; everything is records
	// Decompress is "" or "auto" to use Detect, or another value of Decompressions.
	Decompress string
}

// Validate returns all misuses, including contradictions to the description of a record.
func (r Recognition) Validate(s Spec) error {
	var faults []error
	if r.Decompress != "" && !slices.Contains(Decompressions(), r.Decompress) {
		faults = append(faults, option.Errorf(option.Decompress, " %q: use %s", r.Decompress,
			english.WordSeries(Decompressions(), "or")))
	} else if r.Raw && !r.automatic() && r.Decompress != None.String() {
		faults = append(
			faults,
			option.Errorf(option.Raw, " and %v %s cannot be combined: leave one out",
				option.Decompress, r.Decompress),
		)
	}

	if r.Raw && !s.isRaw() {
		faults = append(
			faults,
			option.Errorf(option.Raw, " and %v %s cannot be combined: the format "+
				"has a header", option.Format, s.Format),
		)
	}
	return errors.Join(faults...)
}

func (r Recognition) automatic() bool {
	return r.Decompress == "" || r.Decompress == "auto"
}

// Compression returns the compression of an input that has the given name and begins with first.
// REQUIRES: Validate returned nil
func (r Recognition) Compression(name string, first []byte) Compression {
	switch {
	case r.Raw:
		return None
	case r.automatic():
		return cmp.Or(Detect(first), detectByName(name))
	}
	return findCodec(func(c *codec) bool { return c.name == r.Decompress })
}

// CheckPacked returns an error if the first bytes of an input belong to a compression that cannot
// be read.
func (r Recognition) CheckPacked(first []byte) error {
	if r.Raw || !r.automatic() {
		return nil
	}
	for _, c := range codecs {
		if c.unreadable != nil && c.unreadable(first) != "" {
			return fmt.Errorf(
				"this is compressed with %s %s: decompress it first (%s -dc FILE | extsort ...); or %v none "+
					"to sort its bytes as they are",
				c.name, c.unreadable(first), c.name, option.Decompress,
			)
		}
	}

	f := recognise(foreignCompressions, first)
	if f != nil {
		return fmt.Errorf(
			"this is compressed with %s: decompress it first (%s -dc FILE | extsort ...); or "+
				"%v none to sort its bytes as they are",
			f.name, f.name, option.Decompress,
		)
	}
	return nil
}

// CheckRecords returns an error if the first bytes of raw records, decompressed, belong to a file
// of another kind.
func (r Recognition) CheckRecords(s Spec, first []byte) error {
	if r.Raw || !s.isRaw() {
		return nil
	}
	if c := byMagic(first); c != nil {
		return fmt.Errorf("this is %s: %s instead of %v; or %v to sort its bytes as they are",
			c.found, c.advice(), layoutOption(s), option.Raw)
	}
	f := recognise(foreignFiles, first)
	if f != nil {
		return fmt.Errorf(
			"this is %s: %s; or %v to sort its bytes as they are", f.name, f.advice(),
			option.Raw,
		)
	}
	if t, err := ParseType(s.Type); err == nil && t.Kind != Bytes &&
		t.Kind != Zoned &&
		looksLikeText(first) {
		return fmt.Errorf(
			"this is text, not binary numbers of type %s: use sort, or %v for lines of equal length, or %v "+
				"to sort its bytes as they are",
			s.Type, option.RecordSize, option.Raw,
		)
	}
	return nil
}

// layoutOption returns the option that describes the size of a record. REQUIRES: s.isRaw
func layoutOption(s Spec) option.Field {
	switch {
	case s.Format != "":
		return option.Format
	case s.Fields != "":
		return option.Fields
	case s.RecordSize > 0:
		return option.RecordSize
	}
	return option.Type
}

// TextDoubt returns a warning if the input is text whose lines are not the records described by
// s; otherwise it returns "". Text read as numbers is an error of CheckRecords instead.
func (r Recognition) TextDoubt(s Spec, first []byte) string {
	size, _ := plainSize(&s) // an error is reported by Validate
	if t, err := ParseType(s.Type); err == nil && t.Kind == Bytes {
		size = t.Size
	}
	if r.Raw || s.Format != "" || size == 0 || size > len(first) ||
		!looksLikeText(first) {
		return ""
	}
	for end := size; end <= min(len(first), DetectBytes); end += size {
		if first[end-1] != '\n' {
			return fmt.Sprintf(
				"this is text, and its lines are not records of %d bytes each: use sort for lines "+
					"(%v: no warning)",
				size, option.Raw,
			)
		}
	}

	return ""
}

// isRaw reports whether nothing precedes the records.
func (s Spec) isRaw() bool { return s.Container().IsPlain }

// CountDoubt returns a warning if plain records begin with a number that equals the number of the
// records after it; otherwise it returns "". first is the beginning of the file, and bytes is its
// size.
func (r Recognition) CountDoubt(
	s Spec,
	name string,
	first []byte,
	bytes int64,
) string {
	if s.Format != "" || s.isEmpty() {
		return ""
	}
	c, found, ok := r.guess(file{name, first, bytes, s})
	if !ok {
		return ""
	}
	flags := fmt.Sprintf("%v %s", option.Format, found.Format)
	if found.Type != "" {
		flags += fmt.Sprintf(" %v %s", option.Type, found.Type)
	}
	return fmt.Sprintf(
		"its first 8 bytes are %s, and are sorted as keys: if they are not keys, use %s (%v: no warning)",
		c.counts, flags, option.Raw,
	)
}

// minTextBytes is the length of the shortest text that is recognized. Fewer numbers may all look
// printable by coincidence.
const minTextBytes = 8

// looksLikeText reports whether first can only be lines of text. first contains the first
// DetectBytes of a file, or all of it. Small numbers are not mistaken for text: multi-byte numbers
// contain zero bytes, and single bytes are hardly ever all printable with line breaks among them.
// In a complete file, the last byte must be a line break as well.
func looksLikeText(first []byte) bool {
	if len(first) < minTextBytes {
		return false
	}
	if len(first) < DetectBytes && first[len(first)-1] != '\n' {
		return false
	}
	return IsText(first[:min(len(first), DetectBytes)])
}

// IsText reports whether the first bytes of a file are lines of UTF-8 text. The last character
// may be truncated.
func IsText(first []byte) bool {
	if !bytes.ContainsRune(first, '\n') {
		return false
	}
	for len(first) > 0 {
		r, n := utf8.DecodeRune(first)
		if r == utf8.RuneError && len(first) >= utf8.UTFMax ||
			r < ' ' && !strings.ContainsRune("\t\n\r\f", r) {
			return false
		}
		first = first[n:]
	}

	return true
}

// foreign is a kind of file that is recognized by its first bytes.
type foreign struct {
	magic string // a question mark matches any byte; at least six bytes must be fixed
	name  string
	hint  string // what to do; "" means exportHint
}

// advice says how the records of the file can be sorted. The tables cannot contain the names of
// options, which are not known at initialization.
func (f *foreign) advice() string {
	if f.hint == frameHint {
		return fmt.Sprintf(
			"skip the bytes around its records with %v and %v or %v", option.SkipBytes,
			option.Records, option.SkipTail,
		)
	}
	return cmp.Or(f.hint, exportHint)
}

const (
	exportHint = "convert it to plain records with a program that reads it"

	// frameHint is for files with binary records of equal length. advice adds the names of
	// options.
	frameHint = "skip the bytes around its records"
)

var foreignCompressions = []foreign{
	{"\xfd7zXZ\x00", "xz", ""},
	{"\x89LZO\x00\r\n\x1a\n", "lzop", ""},
}

// tarStart matches the bytes of a tar archive before its magic: a name, modes and sizes.
var tarStart = strings.Repeat("?", 257)

// foreignFiles do not consist of records and cannot be sorted. Some magics include more than the
// format requires: for Parquet the header of the first page, for ROOT the offset of the first
// record, for Avro the first key, and for NetCDF the presence of dimensions.
var foreignFiles = []foreign{
	{"PAR1\x15?\x15", "a Parquet file", ""},
	{"PAR1\x15?\x19", "a Parquet file without rows", ""},
	{"ARROW1\x00\x00", "an Arrow or Feather file", ""},
	{"Obj\x01??avro.", "an Avro file", ""},
	{"\x89HDF\r\n\x1a\n", "an HDF5 file", ""},
	{"CDF\x01????\x00\x00\x00\x0a", "a NetCDF file", ""},
	{"CDF\x02????\x00\x00\x00\x0a", "a NetCDF file", ""},
	{"SIMPLE  =", "a FITS file", ""},
	{"MATLAB 5.0 MAT-file", "a MATLAB file", ""},
	{"MATLAB 7.3 MAT-file", "a MATLAB file", ""},
	{"root????\x00\x00\x00\x64", "a ROOT file", ""},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract its files"},
	{"Rar!\x1a\x07", "a RAR archive", "extract its files"},
	{"version https://git-lfs", "a Git LFS pointer, not the file itself", "git lfs pull"},
	{"RIFF????WAVE", "a WAV file", frameHint},
	{"RF64????WAVE", "a WAV file", frameHint},
	{"RIFF????AVI ", "an AVI file", ""},
	{"RIFF????WEBP", "a WebP image", ""},
	{"RIFF????RMID", "a MIDI file", ""},
	{"RIFF????sfbk", "a SoundFont", ""},
	{"LASF????????????????????\x01\x00", "a LAS file", frameHint},
	{"LASF????????????????????\x01\x01", "a LAS file", frameHint},
	{"LASF????????????????????\x01\x02", "a LAS file", frameHint},
	{"LASF????????????????????\x01\x03", "a LAS file", frameHint},
	{"LASF????????????????????\x01\x04", "a LAS file", frameHint},
	{"PGCOPY\n\xff\r\n\x00", "a binary PostgreSQL COPY", frameHint},
	{"\xd4\xc3\xb2\xa1\x02\x00\x04\x00", "a pcap capture", ""},
	{"\xa1\xb2\xc3\xd4\x00\x02\x00\x04", "a pcap capture", ""},
	{"\x4d\x3c\xb2\xa1\x02\x00\x04\x00", "a pcap capture", ""},
	{"\xa1\xb2\x3c\x4d\x00\x02\x00\x04", "a pcap capture", ""},
	{"\n\r\r\n????\x4d\x3c\x2b\x1a", "a pcapng capture", ""},
	{"\n\r\r\n????\x1a\x2b\x3c\x4d", "a pcapng capture", ""},
	{"\x89PNG\r\n\x1a\n", "a PNG image", ""},
	{"\x7fELF\x01\x01\x01", "an ELF program or library", ""},
	{"\x7fELF\x01\x02\x01", "an ELF program or library", ""},
	{"\x7fELF\x02\x01\x01", "an ELF program or library", ""},
	{"\x7fELF\x02\x02\x01", "an ELF program or library", ""},
	{"%PDF-?.", "a PDF document", ""},
	{"BAM\x01???\x00@", "a BAM file", "use samtools sort"},
	{"BAM\x01\x00\x00\x00\x00", "a BAM file", "use samtools sort"},
	{tarStart + "ustar\x0000", "a tar archive", "extract its files"},
	{tarStart + "ustar  \x00", "a tar archive", "extract its files"},
}

// recognise returns the kind of file that begins with first, or nil.
func recognise(kinds []foreign, first []byte) *foreign {
	at := slices.IndexFunc(kinds, func(f foreign) bool {
		return matches(first, f.magic)
	})
	if at < 0 {
		return nil
	}
	return &kinds[at]
}

// matches reports whether first begins with magic, in which a question mark matches any byte.
func matches(first []byte, magic string) bool {
	if len(first) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != first[i] {
			return false
		}
	}
	return true
}
