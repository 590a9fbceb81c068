package format

import "errors"

// LayoutError says that a description of records contradicts itself or lacks something, with every fault that it has.
type LayoutError struct{ Faults []error }

func (e *LayoutError) Error() string   { return errors.Join(e.Faults...).Error() }
func (e *LayoutError) Unwrap() []error { return e.Faults }

// PartialRecordError says that an input ends within a record: it was cut short, or the record size is wrong.
type PartialRecordError struct {
	File       string
	Byte       int64 // where the partial record begins (decompressed), from 0 behind the bytes that are skipped
	Bytes      int64 // how many it has
	RecordSize int

	Text string // what is wrong, and what may be the cause
}

func (e *PartialRecordError) Error() string { return e.File + ": " + e.Text }
