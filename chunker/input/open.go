package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/safely"
)

// MaxOpen is the greatest number of inputs that stay open; see device.OpenFiles, too. More are mapped: thousands can be
// merged, and a process may have few files open on some systems. Calls take less time than the faults of a map, also of
// what comes from a disk.
const MaxOpen = 64

// Open opens the inputs in their order, but before that those that are remote, several at a time. All must hold the
// same kind of records. Decompressors may take windowBytes for what they look back to. To wait for a stream ends when
// ctx is cancelled.
func Open(ctx context.Context, kind Kind, sources []Source, stdin io.Reader,
	windowBytes int64) ([]*Input, error) {
	o := &opener{kind: kind, stdin: stdin, windowBytes: windowBytes, requests: newRequests(),
		mapped: len(sources) > device.OpenFiles(MaxOpen)}
	opened := o.openRemote(ctx, sources)
	all, err := inputs(nil), o.openOthers(ctx, sources, opened)
	if err == nil {
		all, err = o.joined(opened)
	}
	if err == nil {
		return all, nil
	}
	for _, one := range opened {
		if one.in != nil {
			one.in.Close()
		}
	}
	return nil, err
}

// opener is what the inputs of a run are opened with.
type opener struct {
	kind        Kind
	stdin       io.Reader
	windowBytes int64
	mapped      bool // see MaxOpen
	requests    *Requests
}

// opened is an input, or why there is none.
type opened struct {
	in  *Input
	err error
}

// openRemote opens what is remote, each at its place among all sources: an answer of a server takes a while.
func (o *opener) openRemote(ctx context.Context, sources []Source) []opened {
	all := make([]opened, len(sources))
	var group safely.Group
	group.SetLimit(plan.RemoteRequests)
	for i, s := range sources {
		if s.isRemote() {
			group.Go(func() error {
				all[i].err = safely.Call(func() error {
					all[i] = o.open(ctx, i, s)
					return all[i].err
				})
				return nil
			})
		}
	}
	group.Wait()
	return all
}

// openOthers opens what is not remote, one after the other, until the system lets no more be open.
func (o *opener) openOthers(ctx context.Context, sources []Source, to []opened) error {
	for i, s := range sources {
		switch {
		case s.isRemote(): // it is open
		case s.IsStdin() && slices.ContainsFunc(sources[:i], func(s Source) bool { return s.IsStdin() }):
			to[i].err = errors.New("standard input (-) is named more than once")
		default:
			to[i] = o.open(ctx, i, s)
		}
		if err := to[i].err; errors.Is(err, syscall.EMFILE) {
			return fmt.Errorf("%w (raise ulimit -n: FIFOs and other streams stay open)", err)
		}
	}
	return nil
}

// joined are the inputs that were opened, or all that is wrong with them.
func (o *opener) joined(opened []opened) (all inputs, err error) {
	var faults []error
	for i, one := range opened {
		if one.err != nil {
			faults = append(faults, one.err)
			continue
		}
		if i == 0 && o.kind.Keep {
			one.in.Header.KeepBefore(one.in.head.kept, one.in.count)
		}
		all = append(all, one.in)
	}
	if i := slices.IndexFunc(all, func(in *Input) bool { return !in.Header.IsOpen() }); i >= 0 {
		for _, in := range all {
			in.Header.AdoptLayout(all[i].Header)
		}
	}
	for _, in := range all {
		faults = append(faults, all[0].Header.Compatible(in.Header))
	}
	if err = errors.Join(append(faults, all.checkTotal())...); err == nil {
		all.compareFrames()
	}
	return all, err
}

// open opens source i.
func (o *opener) open(ctx context.Context, i int, s Source) opened {
	kind := o.kind
	kind.first = i == 0
	if s.At != nil || s.Reader != nil {
		s.Name = cmp.Or(s.Name, fmt.Sprintf("input %d", i+1))
	}
	in, err := o.openInput(ctx, kind, s)
	return opened{in, err}
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
	all.compareFrames()
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
