package extsort

import (
	"fmt"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// The errors that a program may want to tell apart, by errors.As or errors.AsType. Others are wrapped, and name the
// operation, the file and the byte.
type (
	// OptionError says that an option has a value that cannot be used. Its Field is the option.
	OptionError = option.Error

	// LayoutError says that Options.Record contradicts itself or lacks something.
	LayoutError = format.LayoutError

	// PartialRecordError says that an input ends within a record.
	PartialRecordError = format.PartialRecordError

	// PanicError is a panic in the library, or in a Reader, a Writer or a callback that it was given. No goroutine of
	// the library ends the program by one: the call fails with this error, which has the stack.
	PanicError = safely.PanicError

	// MemoryError says that Options.MemoryBytes is too little, and what would be enough.
	MemoryError = plan.MemoryError
)

// DisorderError says where a file is not in order: Check's verdict, and Merge's complaint about an input.
type DisorderError struct {
	File   string
	Record int64  // index of the first record that is out of order, from 0; its message counts from 1
	Byte   int64  // its place in the file (decompressed), from 0 behind Options.SkipBytes
	Key    string // its key in its type, as format.Layout.KeyTexts writes it
	After  string // the key of the record before it
	Field  string // of a key that is not all of the record, the first field that is not equal in both

	Repeats bool // with Unique: the key is that of the record before it
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
