package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/merge"
)

// A DisorderError reports the first record that is out of order. Check returns it, and Merge
// returns it for an input.
type DisorderError struct {
	File   string
	Record int64  // index of the first record that is out of order, from 0; its message counts from 1
	Byte   int64  // its offset in the decompressed file; 0 is the first byte after Options.SkipBytes
	Key    string // its key as text; see format.Layout.KeyTexts
	After  string // the key of the previous record
	Field  string // the first key field in which the two records differ; "" if the key is the whole record

	Repeats bool // with Unique: the key equals that of the previous record
}

func (e *DisorderError) Error() string {
	field := ""
	if e.Field != "" {
		field = fmt.Sprintf(" (key %s)", e.Field)
	}
	if e.Repeats {
		return fmt.Sprintf("%s: record %d (byte %d) repeats the key of record %d: %s",
			e.File, e.Record+1, e.Byte, e.Record, e.Key)
	}
	return fmt.Sprintf("%s: record %d (byte %d) is out of order: %s after %s%s",
		e.File, e.Record+1, e.Byte, e.Key, e.After, field)
}

// nameDisorder turns an error of package merge about disorder into a *DisorderError. It returns
// other errors unchanged.
func (s *session) nameDisorder(ctx context.Context, err error) error {
	disorder, ok := errors.AsType[*merge.DisorderError](err)
	if !ok {
		return err
	}
	engine.SeekDisorder(ctx, s.run.Input, disorder)
	return s.disorderIn(disorder)
}

// disorderIn describes a disorder with the name of the file, the position in it, and both keys as
// text.
func (s *session) disorderIn(at *merge.DisorderError) *DisorderError {
	in := s.run.Input.Files[at.Input]
	layout := s.run.Input.Keyer.Layout()
	e := &DisorderError{
		File:    in.Name,
		Record:  in.First + at.Record,
		Byte:    in.Offset(at.Record),
		Repeats: bytes.Equal(at.Key, at.Before),
	}
	var field int
	e.Key, e.After, field = layout.KeyTexts(at.Key, at.Before)
	switch {
	case field < 0 || layout.IsBare():
	case len(keyTexts(&s.opt)) > 0:
		e.Field = keyTexts(&s.opt)[field]
	default:
		e.Field = layout.Key[field].String()
	}
	return e
}
