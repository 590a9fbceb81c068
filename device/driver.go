package device

import (
	"context"
	"errors"

	"github.com/extsort/extsort/format"
)

// A Driver finds and opens the devices of one kind of hardware or library. Package
// internal/drivers has the table of all drivers.
type Driver interface {
	// Name returns the name of the driver: one word, which is unique among all drivers.
	Name() string

	// Installed reports whether this machine may have devices of the driver. It returns at once,
	// because it starts nothing.
	Installed() bool

	// Supports returns an error if no device of the driver can sort records of this layout. It
	// starts nothing.
	Supports(layout format.Layout) error

	// List returns the devices of this machine, always in the same order. It may take a second,
	// because it starts the library of the driver. An error says why there are no devices, or why
	// some are missing from the list. Whoever calls List sets Info.Index, Info.DriverName and
	// Info.Number.
	List(ctx context.Context) ([]Info, error)

	// Open opens a device of the list. The Info of the device has the same Index. The device may
	// have a method MeasureRates() error, which measures Info.LinkRate and Info.SortRate within
	// some milliseconds.
	Open(ctx context.Context, info Info, opt OpenOptions) (Device, error)
}

// OpenOptions describes how a device is used. The zero value of each field is its default.
type OpenOptions struct {
	MemoryBytes int64  // maximum memory to use on the device; 0: all of it
	Algorithm   string // one of Info.Algorithms; "": chosen by the device
	DigitBits   int    // bits per pass, if Info.VariableDigits; 0: chosen by the device
}

// ErrFailed is the class of the errors of a device that failed: it ran out of memory, its kernels
// cannot be built, or it was lost. Drivers return errors that wrap it. After such an error,
// another device can sort the same records.
var ErrFailed = errors.New("the device failed")

// NewFailure returns an error with this text that wraps ErrFailed.
func NewFailure(text string) error { return &failure{text} }

type failure struct{ text string }

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return ErrFailed }
