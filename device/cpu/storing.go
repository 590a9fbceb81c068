package cpu

import (
	"context"
	"sync/atomic"

	"github.com/extsort/extsort/device"
)

// storing lets workers take tasks in order, so that the one with the lowest is never behind another: it waits for
// nobody, and writers may wait for those before them.
type storing struct {
	tasks   int
	to      device.BlockWriter
	zones   *usage // nil: nobody hears what is done with
	claimed atomic.Int64
}

// work stores tasks until there are no more. store writes one of them, count records from first on.
func (s *storing) work(store func(task int, to *outlet) (first, count int64, err error)) error {
	out := s.zones.outlet(s.to)
	defer out.close()
	for {
		task := int(s.claimed.Add(1)) - 1
		if task >= s.tasks {
			return nil
		}
		first, count, err := store(task, out)
		if err != nil {
			s.zones.fail(err)
			return err
		}
		s.zones.done(first, count)
	}
}

// drain calls store with zones whose memory is given back, or to a writer that takes it over: then it is taken, and not to
// be written to again.
func drain(ctx context.Context, w device.BlockWriter, zones *usage, store func(*usage) error) (taken bool, err error) {
	if taker, ok := w.(device.Taker); ok && taker.Takes() {
		zones.taker = taker
	}
	late, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	zones.late, zones.cancel = late, cancel
	err = store(zones)
	if failed := zones.spent.close(); err == nil {
		err = failed
	}
	return zones.taker != nil, err
}
