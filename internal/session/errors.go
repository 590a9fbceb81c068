package session

import (
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/engine"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
)

// These errors can be recognized with errors.As or errors.AsType. All other errors wrap their
// cause, and name the operation, the file and the byte offset.
type (
	// An OptionError reports an invalid value of an option. Its Field names the option.
	OptionError = option.Error

	// A LayoutError reports that Options.Record is contradictory or incomplete.
	LayoutError = format.LayoutError

	// A PartialRecordError reports that an input ends in the middle of a record.
	PartialRecordError = format.PartialRecordError

	// A PanicError reports a panic in the library, or in a Reader, a Writer or a callback of the
	// caller. Such a panic does not end the program: the call returns this error, which contains
	// the stack.
	PanicError = safely.PanicError

	// An OverwriteError reports that a run ended, for whatever reason, after it had started to
	// overwrite one of its inputs.
	OverwriteError = engine.OverwriteError

	// A MemoryError reports that Options.MemoryBytes is too small. It contains a value that is
	// sufficient.
	MemoryError = plan.MemoryError
)
