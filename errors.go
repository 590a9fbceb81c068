package extsort

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/option"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/session"
)

// An OptionError reports an invalid or missing field of a job. A call joins the errors of several
// fields with errors.Join; errors.As finds the first of them.
type OptionError struct {
	Option string // the field, such as Output.Path; "": several fields contradict each other
	text   string
}

func (e *OptionError) Error() string { return e.text }

// A ResourceError reports that a resource is too small for the job.
type ResourceError struct {
	Option    string // the field that sets the resource: Resources.Memory or Resources.TempDirs
	Available int64  // bytes
	Needed    int64  // a sufficient number of bytes; 0: unknown
	text      string
}

func (e *ResourceError) Error() string { return e.text }

// A PartialRecordError reports that an input ends in the middle of a record.
type PartialRecordError struct {
	File       string // the path or name of the input
	Offset     int64  // where the partial record begins in the decompressed input, after Input.HeaderBytes
	Bytes      int64  // the length of the partial record
	RecordSize int    // bytes of a complete record
	text       string
}

func (e *PartialRecordError) Error() string { return e.text }

// A FileError reports that reading or writing failed at some offset of a file or Reader. If a file
// cannot be opened or created, the error is a *fs.PathError instead.
type FileError struct {
	Op     string // what failed, such as read or write
	File   string // the path or name of the file
	Offset int64  // in the decompressed file, after Input.HeaderBytes; -1: failed while the format was detected
	Err    error  // the cause
}

func (e *FileError) Error() string { return (*fileerr.Error)(e).Error() }

// A DisorderError describes the first record that is out of order. Merge returns it for an unsorted
// input. For Check, it is part of the result.
type DisorderError struct {
	File   string
	Record int64  // index of the record, from 0; the message counts from 1
	Offset int64  // its offset in the decompressed file, after Input.HeaderBytes
	Key    string // its key as text
	After  string // the key of the previous record
	Field  string // the first key field in which the two records differ; "": the key is the whole record
	Equal  bool   // with CheckJob.Unique: the record has the same key as the previous one

	text string
}

func (e *DisorderError) Error() string { return e.text }

// A PanicError reports a panic in a function of the caller, such as a Reader, Progress or a key
// function of SortSlice, or a bug in this package. Such a panic does not end the program.
type PanicError struct {
	Function string // the caller's function that panicked, such as "Read of Input.Reader"; "": a bug in this package
	Value    any    // the argument of panic
	Stack    []byte // the stack of the goroutine that panicked, as debug.Stack formats it
}

func (e *PanicError) Error() string { return (*safely.PanicError)(e).Error() }

// jobFields are the fields of a job that correspond to the options of a session.
var jobFields = map[option.Field]string{
	option.Algorithm:     "Tuning.Algorithm",
	option.Argsort:       "Select.Positions",
	option.BatchSize:     "Tuning.MergeWidth",
	option.Checkpoint:    "Checkpoint",
	option.Compress:      "Output.Compression",
	option.Count:         "Select.Counted",
	option.Decompress:    "Input.Compression",
	option.DeviceMemory:  "Resources.DeviceMemory",
	option.DigitBits:     "Tuning.DigitBits",
	option.Duplicates:    "Select.Duplicates",
	option.Keep:          "Select.Unique",
	option.KeepHeader:    "Output.KeepHeader",
	option.KeepKey:       "KeepKey",
	option.Limit:         "Select.First",
	option.MemoryBytes:   "Resources.Memory",
	option.Output:        "Output.Path",
	option.Part:          "Input.Part",
	option.Raw:           "Input.Raw",
	option.Records:       "Input.Records",
	option.Reverse:       "Reverse",
	option.Sink:          "Output.Sink",
	option.SkipBytes:     "Input.HeaderBytes",
	option.SkipTail:      "Input.TrailerBytes",
	option.Sources:       "Input.Sources",
	option.SpillCompress: "Tuning.SpillCompression",
	option.Strategy:      "Tuning.Strategy",
	option.TempDirs:      "Resources.TempDirs",
	option.Unique:        "Select.Unique",
	option.Verify:        "Verify",
	option.Workers:       "Resources.Workers",
	option.Float:         "Record.NumericFloats",
	option.First:         "Select.First",
	option.Last:          "Select.Last",
	option.Max:           "Select.Max",
	option.Min:           "Select.Min",
	option.Sum:           "Select.Sum",
	option.RecordSize:    "Record.Size",
}

// Messages of internal packages name the fields of a job, such as Resources.Memory.
func init() { option.Rename(jobField) }

// jobField returns the name of an option in this package. Fields of Record without an entry have
// the same name.
func jobField(f option.Field) string {
	if name, ok := jobFields[f]; ok {
		return name
	}
	return string(f)
}

// optionErrorf returns an *OptionError whose message begins with the option.
func optionErrorf(option, format string, args ...any) error {
	return &OptionError{Option: option, text: option + " " + fmt.Sprintf(format, args...)}
}

// publicErrors converts the errors of a call to the types of this package. It converts joined
// errors one by one and joins the results.
func publicErrors(err error) error {
	if err == nil {
		return nil
	}
	if layout, ok := err.(*format.LayoutError); ok {
		return publicForms(layout.Faults, true)
	}
	if all := joinedErrors(err); all != nil {
		return publicForms(all, false)
	}
	return &jobError{err: err}
}

// joinedErrors returns the errors that were joined by errors.Join, or nil.
func joinedErrors(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if _, isLayout := err.(*format.LayoutError); !ok || isLayout {
		return nil
	}
	all := several.Unwrap()
	if err.Error() != errors.Join(all...).Error() {
		return nil
	}
	return all
}

// publicForms returns the public forms of errors. If ofRecord is set, the errors are about a
// Record.
func publicForms(faults []error, ofRecord bool) error {
	public := make([]error, len(faults))
	for i, fault := range faults {
		if all := joinedErrors(fault); all != nil {
			public[i] = publicForms(all, ofRecord)
			continue
		}
		if _, isOption := errors.AsType[*option.Error](fault); ofRecord && !isOption {
			fault = &OptionError{Option: "Record", text: fault.Error()}
		}
		public[i] = publicErrors(fault)
	}
	if len(public) == 1 {
		return public[0]
	}
	return errors.Join(public...)
}

// A jobError is an error of a call. It wraps errors of internal packages and presents them as types
// of this package.
type jobError struct{ err error }

func (e *jobError) Error() string { return e.err.Error() }

func (e *jobError) Unwrap() error { return e.err }

// As implements errors.As for errors of internal packages that have a counterpart in this package.
func (e *jobError) As(target any) bool {
	switch target := target.(type) {
	case **OptionError:
		return assignPublic(target, e.err, func(from *option.Error) *OptionError {
			return &OptionError{Option: from.Field.String(), text: from.Text}
		})
	case **ResourceError:
		return assignPublic(target, e.err, memoryError) || assignPublic(target, e.err, spaceError)
	case **PartialRecordError:
		return assignPublic(target, e.err, func(from *format.PartialRecordError) *PartialRecordError {
			return &PartialRecordError{
				File:       from.File,
				Offset:     from.Byte,
				Bytes:      from.Bytes,
				RecordSize: from.RecordSize,
				text:       from.Error(),
			}
		})
	case **FileError:
		return assignPublic(target, e.err, func(from *fileerr.Error) *FileError { return (*FileError)(from) })
	case **DisorderError:
		return assignPublic(target, e.err, disorderError)
	case **fs.PathError:
		return assignPublic(target, e.err, renameError)
	case **PanicError:
		return assignPublic(target, e.err, func(from *safely.PanicError) *PanicError { return (*PanicError)(from) })
	}
	return false
}

// assignPublic sets target to the public form of an error of type From, if err contains one.
func assignPublic[From error, To any](target *To, err error, public func(From) To) bool {
	from, ok := errors.AsType[From](err)
	if ok {
		*target = public(from)
	}
	return ok
}

func memoryError(from *plan.MemoryError) *ResourceError {
	return &ResourceError{
		Option:    jobField(option.MemoryBytes),
		Available: from.Limit,
		Needed:    from.Least,
		text:      from.Error(),
	}
}

func spaceError(from *plan.RoomError) *ResourceError {
	return &ResourceError{
		Option:    jobField(option.TempDirs),
		Available: from.Free,
		Needed:    from.Needed,
		text:      from.Error(),
	}
}

// renameError converts the error of a rename, which contains two paths, to an error with a single
// path.
func renameError(from *os.LinkError) *fs.PathError {
	return &fs.PathError{Op: from.Op, Path: from.New, Err: from.Err}
}

func disorderError(from *session.DisorderError) *DisorderError {
	return &DisorderError{
		File:   from.File,
		Record: from.Record,
		Offset: from.Byte,
		Key:    from.Key,
		After:  from.After,
		Field:  from.Field,
		Equal:  from.Repeats,
		text:   from.Error(),
	}
}
