package extsort

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	sinks "github.com/extsort/extsort/merge/output"
)

// watchDataset shows every record that is read from a dataset, once, on its way to whoever reads it.
type watchDataset struct {
	chunker.Dataset
	size int // bytes of a record
	seen func(recs []byte)

	// mayMap is how many bytes all records may have at most to be left where they lie, see device.Mapped. It is asked for
	// such records only: to read the limits of the machine takes longer than to sort a small file.
	mayMap func() int64
}

// Cut cuts the dataset and watches the source.
func (w *watchDataset) Cut(maxRecords int64) (device.Source, error) {
	src, err := w.Dataset.Cut(maxRecords)
	if src == nil || err != nil {
		return nil, err
	}
	return &watchSource{Source: src, watch: w}, nil
}

// Split splits the dataset and watches the sources.
func (w *watchDataset) Split(n int) []device.Source {
	sources := w.Dataset.Split(n)
	for i, src := range sources {
		sources[i] = &watchSource{Source: src, watch: w}
	}
	return sources
}

type watchSource struct {
	device.Source
	watch *watchDataset
}

// ReadAhead implements input.Foreseen.
func (w *watchSource) ReadAhead(ctx context.Context, maxBytes int64) {
	if src, ok := w.Source.(input.Foreseen); ok {
		src.ReadAhead(ctx, maxBytes)
	}
}

// Next reads from the source and shows what came.
func (w *watchSource) Next(max int, place func(first int64, n int) []byte) (int64, int, error) {
	var p []byte
	first, n, err := w.Source.Next(max, func(first int64, n int) []byte {
		p = place(first, n)
		return p
	})
	if n > 0 && err == nil {
		w.watch.seen(p[:n*w.watch.size])
	}
	return first, n, err
}

// Map maps the records if they are all that there are, and not too many.
func (w *watchSource) Map() (device.Mapping, error) {
	mapped, ok := w.Source.(device.Mapped)
	n := w.Records()
	if !ok || n != w.watch.Records() || n*int64(w.watch.size) > w.watch.mayMap() {
		return nil, nil
	}
	return mapped.Map()
}

// watchReader shows the records of an input as they are read in sequence, and names it in its errors.
type watchReader struct {
	in   *input.Input
	r    io.Reader
	job  *job
	read int64  // record bytes
	rest []byte // of a record that was read in part
}

// Read reads from the input and shows the records that are now complete.
func (w *watchReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.read += int64(n)
	recs := p[:n]
	if len(w.rest) > 0 {
		recs = append(w.rest, recs...)
	}
	whole := len(recs) / w.job.size * w.job.size
	w.job.see(recs[:whole])
	w.rest = slices.Clone(recs[whole:])
	return n, w.explain(err)
}

func (w *watchReader) explain(err error) error {
	switch err {
	case nil:
		return nil
	case io.EOF:
		if wrong := w.in.CheckEnd(w.read); wrong != nil {
			return wrong
		}
		return io.EOF
	}
	return fmt.Errorf("read %s at byte %d: %w", w.in.Name, w.in.Header.Size()+w.read, err)
}

// see counts the records of the input as they are read.
func (j *job) see(recs []byte) {
	j.recordsIn.Add(int64(len(recs) / j.size))
	j.meter.add(atInput, len(recs))
	if j.sumIn != nil {
		j.sumIn.add(recs, j.size)
	}
}

// bytesIn is the number of record bytes that have been read.
func (j *job) bytesIn() int64 { return j.recordsIn.Load() * int64(j.size) }

// watched tells Progress of the blocks of a run.
func (j *job) watched(w device.BlockWriter) device.BlockWriter {
	return sinks.Observe(func(_ int64, recs []byte) error {
		j.meter.add(atSpill, len(recs))
		return nil
	}, w)
}

// keys are the key prefixes of the sample, for the caller to sort.
func (j *job) keys() []uint64 { return slices.Clone(j.sample.Prefixes) }

// noteChunk enters what a chunk took into the report.
func (j *job) noteChunk(s device.Stats) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.report.Chunks++
	j.stats = append(j.stats, s)
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

// orderWatch checks the order and the checksum of blocks that pass in any order.
type orderWatch struct {
	keyer *format.Keyer
	sum   checksum
	order format.OrderCheck

	brief  bool        // no checksum is wanted, and nothing after the first fault
	unique bool        // equal neighbours are a fault
	faulty atomic.Bool // brief: a block had a fault
}

func (o *orderWatch) see(first int64, recs []byte) error {
	order := format.CheckBlock(o.keyer, first, recs)
	o.order.Add(order)
	if o.brief {
		if order.FirstFault(o.unique) >= 0 {
			o.faulty.Store(true)
		}
		return nil
	}
	o.sum.add(recs, o.keyer.Layout().RecordSize)
	return nil
}

// untilFault is a source that ends when a fault was seen in its records. It hands them out in order, so that all before the
// fault were.
type untilFault struct {
	device.Source
	watch *orderWatch
}

func (u untilFault) Next(max int, place func(first int64, n int) []byte) (first int64, n int, err error) {
	if u.watch.faulty.Load() {
		return 0, 0, nil
	}
	return u.Source.Next(max, place)
}

// readAll shows all records of sources to see, several goroutines at a time.
func readAll(ctx context.Context, src device.Source, workers, blockBytes, size int, see func(first int64, recs []byte) error) error {
	return eachWorker(ctx, workers, func(ctx context.Context) error {
		buffer := make([]byte, max(blockBytes/size, 1)*size)
		for {
			first, n, err := src.Next(len(buffer)/size, func(int64, int) []byte { return buffer })
			if err != nil || n == 0 {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := see(first, buffer[:n*size]); err != nil {
				return err
			}
		}
	})
}
