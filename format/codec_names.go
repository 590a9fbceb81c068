package format

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

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
