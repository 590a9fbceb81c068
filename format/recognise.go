package format

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pierrec/lz4/v4"

	"github.com/extsort/extsort/internal/option"
)

var (
	compressionSuffixes = []string{"", ".gz", ".zst", ".s2"}

	// foreignSuffixes are of compressions that no output can have, and other ways to write those that it can.
	foreignSuffixes = []string{
		".xz", ".lz4", ".bz2", ".zstd", ".Z", ".lzma", ".lz", ".lzo", ".br", ".sz", ".7z", ".zip",
	}
)

// ParseCompression reads how an output is to be compressed: none, gzip, zstd (or zst) or s2. Where s is empty the
// suffix of a file's name asks for it: .gz, .zst, .s2, else None. A suffix that promises another compression is an
// error.
func ParseCompression(s, name string) (Compression, error) {
	switch suffix, at := filepath.Ext(name), slices.Index(compressionNames[:LZ4], s); {
	case at >= 0:
		return Compression(at), nil
	case s == "zst":
		return Zstd, nil
	case s != "":
		return None, option.Errorf(option.Compress, " %q: use none, gzip, zstd or s2", s)
	case slices.Contains(foreignSuffixes, suffix):
		return None, option.Errorf(option.Output, " %s: nothing is written as %s: use .zst, or %v none to "+
			"write it uncompressed under that name", name, suffix, option.Compress)
	default:
		return Compression(max(slices.Index(compressionSuffixes, suffix), 0)), nil
	}
}

// DetectBytes is how many of the first bytes of a stream Detect and Recognition want to see. A shorter stream is given
// whole. A tar archive has its magic at byte 257, and text is known by some lines.
const DetectBytes = 512

// Detect recognises a compressed stream by its first bytes. Records may begin with any bytes, so it asks for
// as much as each format fixes: uniform random data is mistaken for gzip once in about 2^36 files, and for
// zstd once in 2^28.
//
//	gzip    1f 8b 08, flags below 20, time (4), extra flags 00 02 04, system 00 … 0d ff
//	zstd    28 b5 2f fd, or 50 … 5f 2a 4d 18 for a skippable frame
//	s2      ff 06 00 00 "S2sTwO", and Snappy's ff 06 00 00 "sNaPpY"
//	lz4     04 22 4d 18, then a descriptor whose checksum is right
//	bzip2   "BZh", "1" … "9", then 31 41 59 26 53 59 of a block or 17 72 45 38 50 90 of the end
func Detect(first []byte) Compression {
	begins := func(magic string) bool { return bytes.HasPrefix(first, []byte(magic)) }
	switch {
	case begins("\x1f\x8b\x08") && len(first) >= 10 && first[3] < 0x20 &&
		bytes.IndexByte([]byte{0, 2, 4}, first[8]) >= 0 && (first[9] <= 13 || first[9] == 255):
		return Gzip
	case begins("\x28\xb5\x2f\xfd"), len(first) >= 4 && first[0]&0xf0 == 0x50 && string(first[1:4]) == "\x2a\x4d\x18":
		return Zstd
	case begins("\xff\x06\x00\x00S2sTwO"), begins("\xff\x06\x00\x00sNaPpY"):
		return S2
	case begins("\x04\x22\x4d\x18") && isLZ4(first):
		return LZ4
	case matches(first, "BZh?1AY&SY"), matches(first, "BZh?\x17\x72\x45\x38\x50\x90"):
		return Bzip2
	}
	return None
}

// isLZ4 reports whether a frame's descriptor has the checksum that it names, also if it asks for what cannot be read.
func isLZ4(first []byte) bool {
	ok, err := lz4.ValidFrameHeader(first)
	return ok || errors.Is(err, lz4.ErrInvalidFrameDescriptor)
}

// isLegacyLZ4 reports whether a file begins as lz4 -l writes it, and the Linux kernel: 02 21 4c 18, then the size of a
// block that decompresses to 8 MiB at most. An empty file has no block.
func isLegacyLZ4(first []byte) bool {
	const most = 8<<20 + 8<<20/255 + 16
	if !bytes.HasPrefix(first, []byte("\x02\x21\x4c\x18")) {
		return false
	}
	if len(first) < 8 {
		return len(first) == 4
	}
	size := binary.LittleEndian.Uint32(first[4:])
	return size > 0 && size <= most
}

// Recognition is what the first bytes of an input are compared with. The zero value is to look for everything.
type Recognition struct {
	Raw        bool   // nothing is recognised: what there is are records
	Decompress string // "" or auto: what Detect says; else none, gzip, zstd, s2, lz4 or bzip2
}

// Decompressions are what Recognition.Decompress may be.
var Decompressions = slices.Concat([]string{"auto"}, compressionNames[:Delta])

// Validate reports every misuse, also together with the description of a record.
func (r Recognition) Validate(s Spec) error {
	var faults []error
	if r.Decompress != "" && !slices.Contains(Decompressions, r.Decompress) {
		faults = append(faults, option.Errorf(option.Decompress, " %q: use auto, none, gzip, zstd, s2, lz4 "+
			"or bzip2", r.Decompress))
	} else if r.Raw && !r.automatic() && r.Decompress != None.String() {
		faults = append(faults, option.Errorf(option.Raw, " and %v %s contradict each other: leave one out",
			option.Decompress, r.Decompress))
	}
	if r.Raw && !s.isRaw() {
		faults = append(faults, option.Errorf(option.Raw, " and %v %s contradict each other: the format "+
			"has a header", option.Format, s.Format))
	}
	return errors.Join(faults...)
}

func (r Recognition) automatic() bool { return r.Decompress == "" || r.Decompress == "auto" }

// Compression is how an input that begins with first is compressed. REQUIRES: Validate.
func (r Recognition) Compression(first []byte) Compression {
	switch {
	case r.Raw:
		return None
	case r.automatic():
		return Detect(first)
	}
	return Compression(slices.Index(compressionNames, r.Decompress))
}

// CheckPacked reports an input whose first bytes are of a compression that cannot be read.
func (r Recognition) CheckPacked(first []byte) error {
	if r.Raw || !r.automatic() {
		return nil
	}
	if isLegacyLZ4(first) {
		return fmt.Errorf("this is compressed by lz4 in its legacy format: decompress it first "+
			"(lz4 -dc FILE | extsort ...); or %v none to sort its bytes as they are", option.Decompress)
	}
	if f := recognise(foreignCompressions, first); f != nil {
		return fmt.Errorf("this is compressed by %s: decompress it first (%s -dc FILE | extsort ...); or "+
			"%v none to sort its bytes as they are", f.name, f.name, option.Decompress)
	}
	return nil
}

// CheckRecords reports raw records, decompressed, whose first bytes are those of a file of some other kind.
func (r Recognition) CheckRecords(s Spec, first []byte) error {
	if r.Raw || !s.isRaw() {
		return nil
	}
	if c := byMagic(first); c != nil {
		return fmt.Errorf("this is %s: %s; or %v to sort its bytes as they are", c.found, c.advice(), option.Raw)
	}
	if f := recognise(foreignFiles, first); f != nil {
		return fmt.Errorf("this is %s: %s; or %v to sort its bytes as they are", f.name, f.advice(), option.Raw)
	}
	if t, err := ParseType(s.Type); err == nil && t.Kind != Bytes && looksLikeText(first) {
		return fmt.Errorf("this is text, not binary numbers of type %s: sort sorts lines, %v lines of equal length; or %v "+
			"to sort its bytes as they are", s.Type, option.RecordSize, option.Raw)
	}
	return nil
}

// TextDoubt returns a warning about text whose lines are not the records that s describes, or "". Text as numbers is an
// error of CheckRecords instead.
func (r Recognition) TextDoubt(s Spec, first []byte) string {
	size := s.RecordSize
	if t, err := ParseType(s.Type); err == nil && t.Kind == Bytes {
		size = t.Size
	}
	if r.Raw || s.Format != "" || size == 0 || size > len(first) || !looksLikeText(first) {
		return ""
	}
	for end := size; end <= min(len(first), DetectBytes); end += size {
		if first[end-1] != '\n' {
			return fmt.Sprintf("this is text, and its lines are not records of %d bytes each: sort sorts lines "+
				"(%v: no warning)", size, option.Raw)
		}
	}
	return ""
}

// isRaw reports whether the records have nothing before them.
func (s Spec) isRaw() bool { return s.Container().IsPlain }

// CountDoubt returns a warning about plain records in a file that begins with a count of its records and has just
// that many, or "". first is the beginning of the file, bytes its size.
func (r Recognition) CountDoubt(s Spec, name string, first []byte, bytes int64) string {
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
	return fmt.Sprintf("its first 8 bytes are %s, and are sorted as keys: if they are not, use %s (%v: no warning)",
		c.counts, flags, option.Raw)
}

// minTextBytes is the length of the shortest text that is recognised: so few numbers may all be printable by chance.
const minTextBytes = 8

// looksLikeText reports whether first, the first DetectBytes of a file or all of it, can only be lines of text. Small
// numbers are not: those of several bytes have zeros, and single bytes hardly ever are all printable with line breaks
// among them. Of a whole file the last byte must be a line break, too.
func looksLikeText(first []byte) bool {
	if len(first) < minTextBytes {
		return false
	}
	if len(first) < DetectBytes && first[len(first)-1] != '\n' {
		return false
	}
	return IsText(first[:min(len(first), DetectBytes)])
}

// IsText reports whether the first bytes of a file are lines of text in UTF-8. Its last character may be cut.
func IsText(first []byte) bool {
	if !bytes.ContainsRune(first, '\n') {
		return false
	}
	for len(first) > 0 {
		r, n := utf8.DecodeRune(first)
		if r == utf8.RuneError && len(first) >= utf8.UTFMax || r < ' ' && !strings.ContainsRune("\t\n\r\f", r) {
			return false
		}
		first = first[n:]
	}
	return true
}

// foreign is a kind of file that is known by its first bytes.
type foreign struct {
	magic string // a question mark stands for any byte; six others at least
	name  string
	hint  string // what to do; "": exportHint
}

// advice says how the records of the file can be sorted. Names of options are not known before the program begins, so
// that the tables have none.
func (f *foreign) advice() string {
	if f.hint == frameHint {
		return fmt.Sprintf("name what surrounds its records by %v and %v or %v", option.SkipBytes, option.Records,
			option.SkipTail)
	}
	return cmp.Or(f.hint, exportHint)
}

const (
	exportHint = "have a program that reads it write plain records"

	// frameHint is for files whose records are binary and of equal length. advice puts the names of options in.
	frameHint = "name what surrounds its records"
)

var foreignCompressions = []foreign{
	{"\xfd7zXZ\x00", "xz", ""},
	{"\x89LZO\x00\r\n\x1a\n", "lzop", ""},
}

// tarStart stands for the bytes of a tar archive that come before its magic: a name, modes and sizes.
var tarStart = strings.Repeat("?", 257)

// foreignFiles have more in them than records, and cannot be sorted. Of Parquet the header of the first page is part of
// the magic, of ROOT the offset of the first record, of Avro the first key, of NetCDF that it has dimensions.
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
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract what is in it"},
	{"Rar!\x1a\x07", "a RAR archive", "extract what is in it"},
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
	{"BAM\x01???\x00@", "a BAM file", "samtools sort sorts it"},
	{"BAM\x01\x00\x00\x00\x00", "a BAM file", "samtools sort sorts it"},
	{tarStart + "ustar\x0000", "a tar archive", "extract what is in it"},
	{tarStart + "ustar  \x00", "a tar archive", "extract what is in it"},
}

// recognise is what begins with those bytes, or nil.
func recognise(kinds []foreign, first []byte) *foreign {
	at := slices.IndexFunc(kinds, func(f foreign) bool { return matches(first, f.magic) })
	if at < 0 {
		return nil
	}
	return &kinds[at]
}

// matches reports whether first begins with magic, in which a question mark stands for any byte.
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
