package engine

import (
	"fmt"
	"os"
)

// mayOverwrite returns an error unless the whole input has been read, and the inputs that the
// output overwrites are unchanged since they were opened. Strategies that write earlier are never
// planned for such an output; this is a final check before the first byte is written.
func (r *Run) mayOverwrite(now os.FileInfo) error {
	if err := r.allRead(); err != nil || now == nil {
		return err
	}
	for _, in := range r.Input.Files {
		if !in.Overwritten {
			continue
		}
		if err := in.CheckUnchanged(now); err != nil {
			return err
		}
	}

	return nil
}

// allRead returns an error if some record of the input has not been read, unless no record is
// wanted.
func (r *Run) allRead() error {
	in := r.Input
	if r.Facts.Request.Limit < 0 {
		return nil
	}
	if n := in.Data.Records(); n >= 0 && in.Records() == n {
		return nil
	}
	unread := true
	if !in.Seekable() {
		next, err := in.Data.Cut(1) // returns nil at the end of a stream
		if err != nil {
			return err
		}
		unread = next != nil
	}

	if unread {
		return fmt.Errorf(
			"internal error: strategy %s would overwrite input %s after reading %d of its %d "+
				"records; nothing was written",
			r.Result.Strategy, in.Overwritten().Name, in.Records(), in.Data.Records(),
		)
	}
	return nil
}

// mostRecords returns the maximum number of records in the output, or -1 for a join. If the size of
// the input is not known in advance, the input must have been read; before, the result is 0.
func (f *Form) mostRecords(r *Run) int64 {
	asked := &r.Facts.Request
	records := max(r.Input.Records(), r.Input.Data.Records())
	switch {
	case f.RowBytes > 0:
		return -1
	case asked.Limit < 0:
		return 0
	case asked.Limit > 0:
		return min(records, asked.Limit)
	}
	return records
}

// An OverwriteError reports that a run ended after it had started to overwrite one of its inputs.
// The input is incomplete.
type OverwriteError struct {
	File string // the name of the input
	Err  error  // the reason why the run ended
}

func (e *OverwriteError) Error() string {
	return fmt.Sprintf("%v; %s was being overwritten and is now incomplete", e.Err, e.File)
}

func (e *OverwriteError) Unwrap() error { return e.Err }

// damaged wraps an error in an OverwriteError if the run has started to overwrite an input.
func (r *Run) damaged(err error) error {
	in := r.Input.Overwritten()
	if in == nil || !r.Output.sink.Begun() {
		return err
	}
	return &OverwriteError{File: in.Name, Err: err}
}
