package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
)

// Input is the inputs of a run as one dataset, whose records are counted, and summed if asked for, as they are read.
type Input struct {
	Files  []*input.Input
	Header *format.Header
	Keyer  *format.Keyer
	Data   chunker.Dataset

	Before int64 // records before the first that is read

	unseen  chunker.Dataset // Data, whose records nobody counts
	size    int             // bytes of a record
	meter   *Meter
	records atomic.Int64
	summed  bool
	sum     checksum // where one is asked for
}

// LimitOfPart makes the limit of a whole merge that of the part of it that is read. Negative: of that, nothing is
// written; 0: everything.
func (in *Input) LimitOfPart(limit int64) int64 {
	switch n := in.Data.Records(); {
	case limit <= 0 || n < 0:
		return limit
	case limit <= in.Before:
		return -1
	case limit >= in.Before+n:
		return 0
	}
	return limit - in.Before
}

// InputOptions says what is done with the records of an Input.
type InputOptions struct {
	Reverse bool                                  // the opposite order
	Sum     bool                                  // add up a checksum
	Wrap    func(chunker.Dataset) chunker.Dataset // for tests; nil: the dataset as it is

	// Slice leaves what is to be read of the files, and tells how many records come before that; nil: all is read.
	Slice func([]*input.Input, *format.Keyer) (before int64, err error)

	// Remake says what is sorted in place of records of a layout; nil: themselves.
	Remake func(format.Layout) (*chunker.Remaking, error)
}

// NewInput makes one dataset of opened files.
func NewInput(files []*input.Input, m *Meter, opt InputOptions) (*Input, error) {
	layout := files[0].Header.Layout()
	if opt.Reverse {
		layout = layout.Reverse()
	}
	var remaking *chunker.Remaking
	var err error
	if opt.Remake != nil {
		if remaking, err = opt.Remake(layout); err != nil {
			return nil, err
		}
		layout = remaking.Layout
	}
	keyer, err := format.NewKeyer(layout)
	if err != nil {
		return nil, err
	}
	in := &Input{Files: files, Header: files[0].Header, Keyer: keyer, size: layout.RecordSize, meter: m, summed: opt.Sum}
	if opt.Slice != nil {
		if in.Before, err = opt.Slice(files, keyer); err != nil {
			return nil, err
		}
	}
	data := chunker.NewDataset(files)
	if opt.Wrap != nil {
		data = opt.Wrap(data)
	}
	if remaking != nil {
		if most := remaking.MaxRecords; most > 0 && in.Before+data.Records() > most {
			return nil, fmt.Errorf("there are %d records, and an index can count %d: use indexes of 8 bytes (u64)",
				in.Before+data.Records(), most)
		}
		data = chunker.Remade(data, remaking, in.Before)
	}
	in.unseen = data
	in.Data = chunker.Wrapped(data, func(src device.Source, _ int64) device.Source { return &watchedSource{src, in} })
	return in, nil
}

// ReadSize returns the bytes of a record as it is read from the files, before it is transformed.
func (in *Input) ReadSize() int { return in.Header.Layout().RecordSize }

// Bytes is the number of record bytes that have been read.
func (in *Input) Bytes() int64 { return in.records.Load() * int64(in.size) }

// DataBytes is the number of record bytes that there are; negative: not known.
func (in *Input) DataBytes() int64 { return in.Data.Records() * int64(in.size) }

// Records is the number of records that have been read.
func (in *Input) Records() int64 { return in.records.Load() }

// Seekable reports whether all inputs can be read at any place.
func (in *Input) Seekable() bool {
	return !slices.ContainsFunc(in.Files, func(f *input.Input) bool { return !f.Seekable() })
}

// Remote reports whether an input is read over a network.
func (in *Input) Remote() bool { return input.RequestsOf(in.Files) != nil }

// Overwritten is an input that is the output, too; nil: none is.
func (in *Input) Overwritten() *input.Input {
	if i := slices.IndexFunc(in.Files, func(f *input.Input) bool { return f.Overwritten }); i >= 0 {
		return in.Files[i]
	}
	return nil
}

// see counts records as they are read.
func (in *Input) see(recs []byte) {
	in.records.Add(int64(len(recs) / in.size))
	in.meter.add(atInput, len(recs))
	if in.summed {
		in.sum.add(recs, in.size)
	}
}

// skip counts records that a checkpoint has.
func (in *Input) skip(o spill.Origin) {
	in.records.Add(o.Records)
	in.sum.sum.Merge(o.Sum)
}

// restart makes the counts those of an input of which nothing has been read.
func (in *Input) restart() {
	in.records.Store(0)
	in.sum.sum = format.Checksum{}
}

// again reads all records once more, without counting them.
func (in *Input) again() device.Source { return in.unseen.Split(1)[0] }

// watchedSource shows every record that is read, once, on its way to whoever reads it.
type watchedSource struct {
	device.Source
	in *Input
}

func (w *watchedSource) ReadAhead(ctx context.Context, maxBytes int64) {
	input.ReadAhead(ctx, w.Source, maxBytes)
}

// Next reads from the source and shows what came.
func (w *watchedSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	var p []byte
	first, n, err := w.Source.Next(max, func(first int64, n int) []byte {
		p = place(first, n)
		return p
	})
	if n > 0 && err == nil {
		w.in.see(p[:n*w.in.size])
	}
	return first, n, err
}

// checksum is a format.Checksum that many goroutines add to.
type checksum struct {
	mu  sync.Mutex
	sum format.Checksum
}

func (c *checksum) add(recs []byte, size int) {
	var part format.Checksum
	part.Add(recs, size)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum.Merge(part)
}
