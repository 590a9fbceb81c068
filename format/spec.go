package format

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// A Spec is the user's description of a record: the flags -f, -t, -R and -k of the command, each
// zero if it was not given. Exactly one of these describes the input:
//
//	Type                        bare keys: one record is one value
//	RecordSize [Keys]           raw records; without Keys the whole record is the key, as bytes
//	Fields Keys [RecordSize]    raw records whose fields have names, which Keys may use
//	Format "gensort"            100-byte records, the key is bytes 0 to 9
//	Format "npy" [Keys] [Type]  a NumPy array; Type, if given, must be the type in the file
//	Format "npz" [Member]       an array of an archive of such, as npy
//	Format "fvecs" Keys         vectors, each after its dimension; also bvecs and ivecs
//	Format "sosd", Type         a count, then keys of u32 or u64
type Spec struct {
	Format     string
	Type       string
	Member     string // name of an array in an npz archive; "" for the only one
	RecordSize int    // in bytes
	// Fields describes the fields of plain records in the notation of ParseFields. Keys may then
	// be names of fields, and RecordSize is needed only if the record is longer than its fields.
	Fields string
	// Keys are OFFSET:TYPE[:desc] or, for npy, NAME[:desc] or COLUMN[:desc]; most significant
	// first.
	Keys []string
	// NaN is the position of the NaNs of all fields, whatever the direction: first, last or
	// total. "" means total.
	NaN string
	// Float is total or numeric: with numeric, −0 equals +0, and all NaNs are equal and last
	// unless NaN is first. "" means total.
	Float string
}

// A LayoutError reports that a description of records is contradictory or incomplete. It lists
// all errors.
type LayoutError struct{ Faults []error }

func (e *LayoutError) Error() string {
	return errors.Join(e.Faults...).Error()
}
func (e *LayoutError) Unwrap() []error { return e.Faults }

// Validate returns all misuses, each with advice, as a *LayoutError.
func (s Spec) Validate() error {
	var faults []error
	fault := func(when bool, f option.Field, text string, args ...any) {
		if when {
			faults = append(faults, option.Errorf(f, text, args...))
		}
	}
	faults = append(faults, s.checkCombination()...)
	fault(
		!slices.Contains(
			[]string{"", "first", "last", "total"}, s.NaN,
		), option.NaN,
		" %q: use first, "+
			"last or total", s.NaN,
	)
	fault(
		!slices.Contains(
			[]string{"", "total", "numeric"}, s.Float,
		), option.Float,
		" %q: use total or numeric", s.Float,
	)
	fault(s.Float == "numeric" &&
		s.NaN == "total", option.Float, " numeric excludes %v total: all NaNs are "+
		"equal, so use %[1]v first or last", option.NaN)
	fault(s.RecordSize < 0 ||
		s.RecordSize > MaxRecordSize, option.RecordSize, " %d: a record has from 1 "+
		"to %d bytes", s.RecordSize, MaxRecordSize)
	_, err := ParseType(s.Type)
	if s.Type != "" && err != nil {
		faults = append(faults, option.Errorf(option.Type, ": %v", err))
	}
	isSized := s.RecordSize > 0 && s.RecordSize <= MaxRecordSize ||
		s.RecordSize == 0 && s.Fields != "" && s.Type == ""
	if isSized && s.Format == "" {
		_, err = s.plainLayout()
		if err != nil {
			faults = append(faults, err)
		}
	}

	if len(faults) == 0 {
		return nil
	}
	return &LayoutError{faults}
}

// checkCombination returns the contradictions between the description and its container.
func (s Spec) checkCombination() []error {
	c := s.container()
	if c == nil {
		return []error{option.Errorf(
			"", "unknown format %q: use %s, or %v or %v for raw records", s.Format,
			english.WordSeries(ContainerNames(), "or"), option.Type, option.RecordSize,
		)}
	}
	if s.isEmpty() {
		return []error{option.Errorf(
			"",
			"unknown record layout: use %v TYPE (plain numbers), %v BYTES "+
				"%v OFFSET:TYPE (records), or %v %s",
			option.Type, option.RecordSize, option.Keys, option.Format,
			english.WordSeries(families(), "or"),
		)}
	}
	return slices.Concat(c.check(s),
		exclusion(s.Member != "" &&
			!c.IsArchive, option.Member, " is for an archive of arrays only: add %v %s",
			option.Format, english.WordSeries(archives(), "or")),
		exclusion(s.Fields != "" && s.Format != "", option.Format,
			" %s excludes %v: the format defines the records", s.Format, option.Fields),
		exclusion(s.RecordSize != 0 &&
			!c.hasSize, option.Format, " %s excludes %v: the format has its own "+
			"record size", s.Format, option.RecordSize))
}

// isEmpty reports whether nothing describes a record.
func (s Spec) isEmpty() bool {
	return s.Format+s.Type+s.Fields == "" && s.RecordSize == 0 &&
		len(s.Keys) == 0
}

// keyedLayout returns the layout of records of size bytes whose keys are parsed by parse.
func (s Spec) keyedLayout(
	size int, parse func(key string) (Field, error),
) (Layout, error) {
	l := Layout{RecordSize: size}
	var faults []error
	for _, key := range s.Keys {
		f, err := parse(key)
		if err != nil {
			faults = append(faults, callError(key, err))
			continue
		}
		l.Key = append(l.Key, f)
	}

	if len(faults) == 0 {
		return l, l.Validate()
	}
	if len(l.Key) > 0 {
		faults = append(faults, l.Validate())
	}
	return Layout{}, errors.Join(faults...)
}

// ReadHeader reads the header of the named file from r, and not a byte more: the first record
// follows. Raw files and gensort have no header.
func (s Spec) ReadHeader(r io.Reader, name string) (*Header, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	c := s.container()
	var h *Header
	var err error

	if c.read == nil {
		h, err = c.create(s)
	} else {
		h, err = c.read(s, r)
	}

	if err != nil {
		return nil, fmt.Errorf("read header of %s: %w", name, err)
	}
	h.name = name
	h.describedBy(s)
	return h, nil
}

// describedBy completes a header that was read or created.
func (h *Header) describedBy(s Spec) {
	h.container = s.container()
	if h.container.written != nil {
		h.container = h.container.written
	}
	h.layout = h.layout.withFloats(s.NaN, s.Float)
}

// NewHeader returns the header of new data. For an npy file, Type gives the type. For a file of
// vectors after a count, RecordSize gives the size of a vector.
func (s Spec) NewHeader() (*Header, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	create := s.container().create
	if create == nil {
		return nil, option.Errorf(
			option.Format,
			" %s can be sorted, but not generated",
			s.Format,
		)
	}
	h, err := create(s)
	if err != nil {
		return nil, err
	}
	h.describedBy(s)
	return h, nil
}

// Key adds a field to the key of raw records: a type at an offset in bytes from the beginning of
// the record.
func (s Spec) Key(offset int, t Type) Spec {
	s.Keys = append(slices.Clone(s.Keys), strconv.Itoa(offset)+":"+t.String())
	return s
}

// Desc reverses the order of the field that was added last.
func (s Spec) Desc() Spec {
	s.Keys = slices.Clone(s.Keys)
	if n := len(s.Keys); n > 0 {
		s.Keys[n-1] += ":desc"
	}
	return s
}
