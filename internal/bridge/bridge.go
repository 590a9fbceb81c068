// Package bridge gives packages next to the root access to functions of the root that programs
// cannot call. The root sets its variables when it is initialized. Values of types of the root have
// the type any, because this package cannot import the root.
package bridge

import (
	"context"

	"github.com/extsort/extsort/internal/session"
)

// A Frame contains what the jobs of all packages have in common: pointers to the types of the root
// with the names of the fields.
type Frame struct {
	Input, Record, Output, Resources any
	NeedsOutput                      bool // a missing Output is an error
}

// A Call runs a job.
type Call func(ctx context.Context, progress session.Progress) (*session.Report, error)

var (
	// Options translates a frame. It returns an error for each invalid field.
	Options func(frame Frame) (session.Options, []error)

	// Faults joins errors of fields and an error of the session, in its public form.
	Faults func(ofFields []error, ofSession error) error

	// OptionError returns an *OptionError whose message begins with the option.
	OptionError func(option, format string, args ...any) error

	// Run runs a call and reports its progress to a func(Progress). The report is a *Report, which is
	// nil if the job did not start.
	Run func(ctx context.Context, progress any, call Call) (report any, err error)
)
