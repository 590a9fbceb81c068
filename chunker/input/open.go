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

// MaxOpen is the maximum number of inputs whose descriptors stay open; see also
// device.MaxOpenFiles. If there are more, descriptors of mapped files are closed, because some
// systems allow only a few open files per process, and merges can have thousands of inputs. Such
// files are not read ahead.
const MaxOpen = 64

// Open opens the inputs in order. It opens remote inputs first, several at a time. All inputs
// must contain the same kind of records. windowBytes limits the window size of each decompressor.
// Cancelling ctx ends the wait for a stream.
func Open(
	ctx context.Context,
	kind Kind,
	sources []Source,
	stdin io.Reader,
	windowBytes int64,
) ([]*Input, error) {
	if err := CheckPipes(sources, stdin); err != nil {
		return nil, err
	}
	o := &opener{
		kind:        kind,
		stdin:       stdin,
		windowBytes: windowBytes,
		remote:      newFetcher(),
		keepsOpen:   len(sources) <= device.MaxOpenFiles(MaxOpen),
		mappable:    mappableBytes(),
	}
	opened := o.openRemote(ctx, sources)
	all := inputs(nil)
	err := o.openOthers(ctx, sources, opened)
	if err == nil {
		all, err = o.joinOpened(opened)
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

// An opener holds the parameters for opening the inputs of a run.
type opener struct {
	kind        Kind
	stdin       io.Reader
	windowBytes int64
	keepsOpen   bool  // mapped files keep their descriptors, see MaxOpen
	mappable    int64 // the number of bytes of files that may still be mapped
	triedMap    bool  // whether slowMaps is known
	slowMaps    bool  // reads through a map take much longer than system calls
	remote      *fetcher
}

// opened is an input or the error from opening it.
type opened struct {
	in  *Input
	err error
}

// openRemote opens the remote inputs concurrently, because a server takes time to respond. The
// results have the indexes of the sources.
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

// openOthers opens the local inputs one after another. It stops if the process has too many open
// files.
func (o *opener) openOthers(ctx context.Context, sources []Source, to []opened) error {
	for i, s := range sources {
		switch {
		case s.isRemote(): // already open
		case s.IsStdin() && slices.ContainsFunc(sources[:i], func(s Source) bool {
			return s.IsStdin()
		}):
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

// joinOpened returns the opened inputs, or all of their errors.
func (o *opener) joinOpened(opened []opened) (all inputs, err error) {
	var faults []error
	for i, one := range opened {
		if one.err != nil {
			faults = append(faults, one.err)
			continue
		}
		if i == 0 && o.kind.Keep {
			one.in.Header.KeepBefore(one.in.frame.head.kept, one.in.frame.count)
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

// openInput opens a source. It is the one way in: every kind of source becomes an Input, whose
// records are read at offsets or in sequence.
func (o *opener) openInput(ctx context.Context, kind Kind, s Source) (*Input, error) {
	c, err := s.open(ctx, o.stdin)
	if err != nil {
		return nil, err
	}
	in := &Input{
		Name:         c.Name,
		origin:       c.origin,
		frame:        newInputFrame(&kind),
		wholeRecords: -1,
	}
	if s.isRemote() {
		in.remote = o.remote
		c.at.remote = o.remote
	}
	mapped := o.mapContent(c)
	opening := &opening{in, kind, o.windowBytes}
	err = opening.openContent(c)
	in.close = append(in.close, c)
	if err != nil {
		in.Close()
		return nil, err
	}
	if mapped && !o.keepsOpen {
		return in, c.closeFile()
	}
	return in, nil
}

// inputs is a list of inputs that are read one after another.
type inputs []*Input

// maxBytes exceeds the capacity of any file system, but sums of sizes up to it do not overflow.
const maxBytes = 1 << 60

// checkTotal returns an error if the headers announce more records than there can be.
func (all inputs) checkTotal() error {
	total := int64(0)
	for _, in := range all {
		if size := int64(in.Header.Layout().RecordSize); in.Records <= (maxBytes-total)/size {
			total += max(in.Records, 0) * size
			continue
		}
		return fmt.Errorf(
			"%s: its header announces %d records, but all inputs can have at most 1 EiB: is the format "+
				"right?",
			in.Name, in.Records,
		)
	}

	return nil
}

func (all inputs) Check(warn func(message string)) error {
	all.compareFrames()
	return joinErrors(all, func(in *Input) error { return in.Check(warn) })
}

func (all inputs) Close() error {
	return joinErrors(all, (*Input).Close)
}

// joinErrors calls do for each element and joins the errors.
func joinErrors[E any](all []E, do func(E) error) error {
	var errs []error
	for _, one := range all {
		errs = append(errs, do(one))
	}
	return errors.Join(errs...)
}
