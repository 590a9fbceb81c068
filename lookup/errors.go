package lookup

import (
	"errors"
	"fmt"

	"github.com/extsort/extsort/internal/lookup"
)

// A DisorderError reports that a file is not sorted: the record at index Record follows the record
// at index After, but has a smaller key.
type DisorderError struct {
	Path          string
	Record, After int64  // positions of the two records, from 0; the message counts from 1
	Key, AfterKey string // their keys as text
	err           error
}

func (e *DisorderError) Error() string { return e.err.Error() }
func (e *DisorderError) Unwrap() error { return e.err }

// An IndexError reports an index that cannot be used. Build the index again, or remove it.
type IndexError struct {
	Path  string
	Stale bool // it belongs to another version of the file, or to another order; otherwise, it is damaged
	err   error
}

func (e *IndexError) Error() string { return e.err.Error() }
func (e *IndexError) Unwrap() error { return e.err }

// public returns an error of internal/lookup as an error of this package.
func public(err error) error {
	if disorder, ok := errors.AsType[*lookup.DisorderError](err); ok {
		return &DisorderError{
			Path:     disorder.File,
			Record:   disorder.Record,
			After:    disorder.After,
			Key:      disorder.Key,
			AfterKey: disorder.AfterKey,
			err:      err,
		}
	}
	if stale, ok := errors.AsType[*lookup.StaleError](err); ok {
		return &IndexError{stale.Index, true, err}
	}
	if damaged, ok := errors.AsType[*lookup.DamagedError](err); ok {
		return &IndexError{damaged.Index, false, err}
	}
	return err
}

// A sourceError reports an invalid Source.
type sourceError struct{ err error }

func (e *sourceError) Error() string { return "lookup.Source: " + e.err.Error() }
func (e *sourceError) Unwrap() error { return e.err }

// A keyError reports a value that cannot be a key of the table.
type keyError struct{ err error }

func (e keyError) Error() string { return "lookup: key " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }

// A rangeError reports a range that exceeds a table.
type rangeError struct {
	r       Range
	records int64
}

func (e rangeError) Error() string {
	return fmt.Sprintf("lookup: records %d to %d were asked for, but there are %d", e.r.First, e.r.End, e.records)
}
