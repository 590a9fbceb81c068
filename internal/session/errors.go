package session

import (
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// These errors can be recognized with errors.As or errors.AsType. All other errors wrap their cause, and name the
// operation, the file and the byte offset.
type (
	// An OptionError reports an invalid value of an option. Its Field names the option.
	OptionError = option.Error

	// A LayoutError reports that Options.Record is contradictory or incomplete.
	LayoutError = format.LayoutError

	// A PartialRecordError reports that an input ends in the middle of a record.
	PartialRecordError = format.PartialRecordError

	// A PanicError reports a panic in the library, or in a Reader, a Writer or a callback of the caller. Such a panic does
	// not end the program: the call returns this error, which contains the stack.
	PanicError = safely.PanicError

	// A MemoryError reports that Options.MemoryBytes is too small. It contains a value that is sufficient.
	MemoryError = plan.MemoryError
)

// A DisorderError reports the first record that is out of order. Check returns it, and Merge returns it for an input.
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
