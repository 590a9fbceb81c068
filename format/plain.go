package format

import (
	"slices"

	"github.com/extsort/extsort/internal/option"
)

// plain is a file that consists only of records, which the user describes.
var plain = container{
	Container: Container{IsPlain: true},
	check:     Spec.checkPlain,
	create:    Spec.newPlain,
	hasSize:   true,
}

func (s Spec) checkPlain() []error {
	return slices.Concat(
		exclusion(s.Type != "" &&
			s.RecordSize != 0, option.Type, " %s and %v %d cannot be combined: leave "+
			"one out", s.Type, option.RecordSize, s.RecordSize),
		exclusion(s.Type != "" &&
			len(s.Keys) > 0, option.Keys, " needs %v: with %v %s the whole record is the "+
			"key", option.RecordSize, option.Type, s.Type),
		exclusion(s.Type == "" && s.RecordSize == 0 &&
			len(s.Keys) > 0, option.Keys, " needs the record size: "+
			"add %v BYTES", option.RecordSize),
	)
}

func (s Spec) newPlain() (*Header, error) {
	layout, err := s.plainLayout()
	return &Header{layout: layout, records: -1}, err
}

// plainLayout returns the layout of bare keys or plain records.
func (s Spec) plainLayout() (Layout, error) {
	switch {
	case len(s.Keys) > 0:
		return s.keyedLayout(s.RecordSize, ParseField)
	case s.Type != "":
		t, err := ParseType(s.Type)
		return Bare(t), err
	case s.RecordSize > MaxKeyBytes:
		return Layout{}, option.Errorf(
			option.RecordSize,
			" %d without %v compares whole records, which "+
				"works up to %d bytes: add %v OFFSET:TYPE",
			s.RecordSize, option.Keys, MaxKeyBytes, option.Keys,
		)
	}

	return Whole(s.RecordSize), nil
}
