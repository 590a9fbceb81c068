package format

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/extsort/extsort/internal/option"
)

// Spec is the description of a record as a user gives it: the flags -f, -t, -R and -k of the command, each
// zero where it was not given. Exactly one of these describes the input:
//
//	Type                        bare keys: one record is one value
//	RecordSize [Keys]           raw records; without Keys the whole record is the key, as bytes
//	Format "gensort"            100-byte records, the key is bytes 0 to 9
//	Format "npy" [Keys] [Type]  a NumPy array; Type, if given, is what the file must hold
//	Format "npz" [Member]       an array of an archive of such, as npy
//	Format "fvecs" Keys         vectors, each after its dimension; also bvecs and ivecs
//	Format "sosd", Type         a count, then keys of u32 or u64
type Spec struct {
	Format     string
	Type       string
	Member     string   // of npz, its name; "": the only one
	RecordSize int      // bytes
	Keys       []string // OFFSET:TYPE[:desc] or, for npy, NAME[:desc] or COLUMN[:desc]; most significant first
	NaN        string   // first, last or total: where the NaNs of all fields stand, whatever the direction; "": total
	Float      string   // total, or numeric: −0 equals +0, and all NaNs, which are last unless NaN is first; "": total
}

// gensort's records: http://www.ordinal.com/gensort.html
var gensortLayout = Layout{RecordSize: 100, Key: []Field{{Type: Type{Kind: Bytes, Size: 10}}}}

// LayoutError says that a description of records contradicts itself or lacks something, with every fault that it has.
type LayoutError struct{ Faults []error }

func (e *LayoutError) Error() string   { return errors.Join(e.Faults...).Error() }
func (e *LayoutError) Unwrap() []error { return e.Faults }

// Validate reports every misuse at once, each with what to do about it, as a *LayoutError.
func (s Spec) Validate() error {
	var faults []error
	fault := func(when bool, f option.Field, text string, args ...any) {
		if when {
			faults = append(faults, option.Errorf(f, text, args...))
		}
	}
	s.checkCombination(fault)
	fault(!slices.Contains([]string{"", "first", "last", "total"}, s.NaN), option.NaN, " %q: use first, "+
		"last or total", s.NaN)
	fault(!slices.Contains([]string{"", "total", "numeric"}, s.Float), option.Float, " %q: use total or numeric", s.Float)
	fault(s.Float == "numeric" && s.NaN == "total", option.Float, " numeric excludes %v total: equal NaNs have one "+
		"place, so give %[1]v first or last", option.NaN)
	fault(s.RecordSize < 0 || s.RecordSize > MaxRecordSize, option.RecordSize, " %d: a record has from 1 "+
		"to %d bytes", s.RecordSize, MaxRecordSize)
	_, err := ParseType(s.Type)
	if s.Type != "" && err != nil {
		faults = append(faults, fmt.Errorf("%v: %w", option.Type, err))
	}
	if s.RecordSize > 0 && s.RecordSize <= MaxRecordSize && s.Format == "" {
		_, err = s.rawLayout()
		if err != nil {
			faults = append(faults, err)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return &LayoutError{faults}
}

func (s Spec) checkCombination(fault func(when bool, f option.Field, text string, args ...any)) {
	switch s.Format {
	case "":
		fault(s.Type == "" && s.RecordSize == 0 && len(s.Keys) == 0, "", "nothing says what a record "+
			"is: give %v TYPE for bare keys, %v BYTES [%v OFFSET:TYPE] for records, or %v gensort, npy, "+
			"fvecs or sosd", option.Type, option.RecordSize, option.Keys, option.Format)
		fault(s.Type != "" && s.RecordSize != 0, option.Type, " %s and %v %d exclude each other: leave one "+
			"out", s.Type, option.RecordSize, s.RecordSize)
		fault(s.Type != "" && len(s.Keys) > 0, option.Keys, " needs %v: with %v %s the whole record is the "+
			"key", option.RecordSize, option.Type, s.Type)
		fault(s.Type == "" && s.RecordSize == 0 && len(s.Keys) > 0, option.Keys, " needs the record size: "+
			"add %v BYTES", option.RecordSize)
	case "gensort":
		fault(s.Type != "", option.Format, " gensort excludes %v: its key is bytes 0 to 9", option.Type)
		fault(len(s.Keys) > 0, option.Format, " gensort excludes %v: its key is bytes 0 to 9; for another "+
			"key use %v 100 %v OFFSET:TYPE", option.Keys, option.RecordSize, option.Keys)
	case "npy", "npz":
		fault(s.Type != "" && len(s.Keys) > 0, option.Type, " and %v exclude each other: leave one out",
			option.Keys)
	case "sosd":
		fault(s.Type != "u32" && s.Type != "u64", option.Format, " sosd needs the type of its keys: %v u32 "+
			"or %v u64", option.Type, option.Type)
		fault(len(s.Keys) > 0, option.Format, " sosd excludes %v: its records are bare keys", option.Keys)
	case "fvecs", "ivecs", "bvecs":
		fault(s.Type != "", option.Format, " %s excludes %v: it says what the values are", s.Format,
			option.Type)
	default:
		fault(true, "", "unknown format %q: use gensort, npy, npz, fvecs, bvecs, ivecs or sosd, or %v "+
			"or %v for raw records", s.Format, option.Type, option.RecordSize)
	}
	fault(s.Format != "npz" && s.Member != "", option.Member, " is for an archive of arrays: add %v npz",
		option.Format)
	fault(s.Format != "" && s.RecordSize != 0, option.Format, " %s excludes %v: the format has its own "+
		"record size", s.Format, option.RecordSize)
}

// rawLayout is the layout of bare keys or raw records.
func (s Spec) rawLayout() (Layout, error) {
	switch {
	case len(s.Keys) > 0:
		return s.keyedLayout(s.RecordSize, ParseField)
	case s.Type != "":
		t, err := ParseType(s.Type)
		return Bare(t), err
	case s.RecordSize > MaxKeyBytes:
		return Layout{}, option.Errorf(option.RecordSize, " %d without %v compares whole records, which "+
			"works up to %d bytes: add %v OFFSET:TYPE", s.RecordSize, option.Keys, MaxKeyBytes, option.Keys)
	}
	return Whole(s.RecordSize), nil
}

// keyedLayout is the layout of records of size bytes whose keys parse reads.
func (s Spec) keyedLayout(size int, parse func(key string) (Field, error)) (Layout, error) {
	l := Layout{RecordSize: size}
	var faults []error
	for _, key := range s.Keys {
		f, err := parse(key)
		l.Key, faults = append(l.Key, f), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return Layout{}, err
	}
	return l, l.Validate()
}

// ReadHeader reads the header of the file called name from r and not a byte more: the first record comes
// next. Raw files and gensort have no header.
func (s Spec) ReadHeader(r io.Reader, name string) (*Header, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	var h *Header
	var err error
	switch s.Format {
	case "npy", "npz": // of which r is a member
		h, err = s.readNpy(r)
	case "sosd":
		h, err = s.readSosd(r)
	case "fvecs", "ivecs", "bvecs":
		h, err = s.readVecs(r)
	default:
		h, err = s.NewHeader()
	}
	if err != nil {
		return nil, fmt.Errorf("read header of %s: %w", name, err)
	}
	h.name, h.layout = name, h.layout.withFloats(s.NaN, s.Float)
	return h, nil
}

// HasFields reports whether the keys of the format are chosen among the fields or columns of its records.
func (s Spec) HasFields() bool { return !slices.Contains([]string{"", "gensort", "sosd"}, s.Format) }

// NewHeader is the header of data that is made rather than read. An npy file then takes its type from Type.
func (s Spec) NewHeader() (*Header, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	switch s.Format {
	case "npy":
		return s.newNpy()
	case "sosd":
		return s.newSosd(-1), nil
	case "gensort":
		return &Header{format: s.Format, layout: gensortLayout, records: -1}, nil
	case "npz", "fvecs", "ivecs", "bvecs":
		return nil, option.Errorf(option.Format, " %s can be sorted, but not made", s.Format)
	}
	l, err := s.rawLayout()
	return &Header{layout: l.withFloats(s.NaN, s.Float), records: -1}, err
}

// Key adds a field to the key of raw records: a type at so many bytes from the beginning of the record.
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
