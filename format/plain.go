package format

import (
	"fmt"
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
		exclusion(s.Type != "" && s.Fields != "", option.Type,
			" and %v cannot be combined: leave one out", option.Fields),
		exclusion(s.Type == "" && s.RecordSize == 0 && s.Fields == "" &&
			len(s.Keys) > 0, option.Keys, " needs the record size: "+
			"add %v BYTES", option.RecordSize),
	)
}

func (s Spec) newPlain() (*Header, error) {
	layout, err := s.plainLayout()
	h := &Header{layout: layout, records: -1}
	if err == nil && s.Fields != "" {
		h.fields, err = ParseFields(s.Fields)
	}
	return h, err
}

// plainLayout returns the layout of bare keys or plain records.
func (s Spec) plainLayout() (Layout, error) {
	size, err := plainSize(&s)
	if err != nil {
		return Layout{}, err
	}
	switch {
	case len(s.Keys) > 0:
		return s.keyedLayout(size, func(key string) (Field, error) {
			return fieldKey(&s, key)
		})
	case s.Fields != "":
		return soleField(&s, size)
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

// soleField returns the layout of records with one described field, which is the key.
func soleField(s *Spec, size int) (Layout, error) {
	columns, err := ParseFields(s.Fields)
	if err == nil && len(columns) > 1 {
		err = fmt.Errorf("records have several fields, so give the key as %v NAME[:desc]; the fields are %s",
			option.Keys, joinNames(columns, func(c Column) string {
				return c.Name
			}))
	}
	if err != nil {
		return Layout{}, err
	}
	l := Layout{
		RecordSize: size,
		Key:        []Field{{Offset: columns[0].Offset, Type: columns[0].Type}},
	}
	return l, l.Validate()
}
