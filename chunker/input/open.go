package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/extsort/extsort/device"
)

// MaxOpen is the greatest number of inputs that stay open; see device.OpenFiles, too. More are mapped: thousands can be
// merged, and a process may have few files open on some systems. Calls take less time than the faults of a map, also of
// what comes from a disk.
const MaxOpen = 64

// Open opens the inputs in their order. All must hold the same kind of records. Decompressors may take windowBytes for
// what they look back to. To wait for a stream ends when ctx is cancelled.
func Open(ctx context.Context, kind Kind, sources []Source, stdin io.Reader,
	windowBytes int64) ([]*Input, error) {
	mapped := len(sources) > device.OpenFiles(MaxOpen)
	requests := newRequests()
	var all inputs
	var faults []error
	seenStdin := false
	for i, s := range sources {
		if s.IsStdin() && seenStdin {
			faults = append(faults, errors.New("standard input (-) is named more than once"))
			continue
		}
		seenStdin = seenStdin || s.IsStdin()
		if s.At != nil || s.Reader != nil {
			s.Name = cmp.Or(s.Name, fmt.Sprintf("input %d", i+1))
		}
		in, err := openInput(ctx, kind, s, stdin, windowBytes, mapped, requests)
		if errors.Is(err, syscall.EMFILE) {
			all.Close()
			return nil, fmt.Errorf("%w (raise ulimit -n: FIFOs and other streams stay open)", err)
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if kind.Keep {
			in.Header.KeepBefore(in.skipped)
			kind.Keep = false
		}
		all = append(all, in)
		faults = append(faults, all[0].Header.Compatible(in.Header))
	}
	faults = append(faults, all.checkTotal())
	if err := errors.Join(faults...); err != nil {
		all.Close()
		return nil, err
	}
	return all, nil
}

// inputs are read one after another.
type inputs []*Input

// maxBytes is more than any file system holds. Sums of what is no more do not overflow.
const maxBytes = 1 << 60

// checkTotal reports headers that announce more records than there can be.
func (all inputs) checkTotal() error {
	total := int64(0)
	for _, in := range all {
		if size := int64(in.Header.Layout().RecordSize); in.Records <= (maxBytes-total)/size {
			total += max(in.Records, 0) * size
			continue
		}
		return fmt.Errorf("%s: its header announces %d records, and all inputs cannot have more than 1 EiB: is the format "+
			"right?", in.Name, in.Records)
	}
	return nil
}

func (all inputs) Check(warn func(message string)) error {
	return joinErrors(all, func(in *Input) error { return in.Check(warn) })
}

func (all inputs) Close() error { return joinErrors(all, (*Input).Close) }

// joinErrors does something to all and gives the errors of that.
func joinErrors[E any](all []E, do func(E) error) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, do(one))
	}
	return errors.Join(errs...)
}
