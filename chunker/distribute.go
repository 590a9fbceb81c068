package chunker

import (
	"context"
	"encoding/binary"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/arena"
	"github.com/extsort/extsort/format"
)

// ErrQueueFull is the error of a Distributor that sends more records one way than its limit: the sample misled.
var ErrQueueFull = errors.New("more records of one key range than its device holds")

// Distributor sends records to several queues by their keys, in one pass and within bounded memory: what the parts of
// a partition are in files, the queues are in memory, for devices that take them as they come.
//
// Workers read units of records, sort each by queue, and push the pieces when it is their unit's turn. So the records
// of a queue have the order of the input, and only the pushing, which moves nothing, waits.
type Distributor struct {
	keyer      *format.Keyer
	classifier *Classifier
	queueOf    []uint16 // of each part
	queues     []*Queue
	limits     []int64 // records of each queue at most

	workers     int
	unitRecords int
	memory      *arena.Memory
	free        chan *distributedUnit
	turns       *turns
}

// unitsPerWorker is how many units there are for each worker: one that it reads into, one that it sorts into, and
// others that wait for their device.
const unitsPerWorker = 4

// maxUnitBytes bounds units, so that two stay in the second-level cache.
const maxUnitBytes = 1 << 20

// NewDistributor makes a distributor that sends part p of the classifier to queue queueOf[p], limits[q] records to
// queue q at most. It takes memoryBytes of memory for itself, or as much as each worker needs for a record.
func NewDistributor(k *format.Keyer, c *Classifier, queueOf []uint16, limits []int64, workers int, memoryBytes int64) (*Distributor, error) {
	size := k.Layout().RecordSize
	d := &Distributor{keyer: k, classifier: c, queueOf: queueOf, limits: limits, workers: workers, turns: newTurns()}
	for range limits {
		d.queues = append(d.queues, newQueue(size))
	}
	units := workers * unitsPerWorker
	d.unitRecords = int(max(min(memoryBytes/int64(units), maxUnitBytes)/int64(size), 1))
	bytes := d.unitRecords * size
	var err error
	if d.memory, err = arena.Alloc(units * bytes); err != nil {
		return nil, err
	}
	d.free = make(chan *distributedUnit, units)
	for i := range units {
		d.free <- &distributedUnit{bytes: d.memory.Bytes()[i*bytes : (i+1)*bytes], free: d.free}
	}
	return d, nil
}

// Queues are where the records go. All must be read until they end.
func (d *Distributor) Queues() []*Queue { return d.queues }

// Counts are the records that have gone to each queue.
func (d *Distributor) Counts() []int64 {
	counts := make([]int64, len(d.queues))
	for i, q := range d.queues {
		counts[i] = q.records
	}
	return counts
}

// Close gives the memory back. REQUIRES: Run has returned, and nobody reads a queue.
func (d *Distributor) Close() error { return d.memory.Free() }

// Run distributes the records of src, which must tell the index of each, and ends the queues.
func (d *Distributor) Run(ctx context.Context, src device.Source) error {
	group, groupCtx := errgroup.WithContext(ctx)
	for range d.workers {
		group.Go(func() error { return d.work(groupCtx, src) })
	}
	err := group.Wait()
	for _, q := range d.queues {
		q.end(err)
	}
	return err
}

// distributing is one worker of Run.
type distributing struct {
	*Distributor
	unit   *distributedUnit // that is read into
	keys   []uint64
	parts  []uint16
	counts []int // records of the unit for each queue
	ends   []int // bytes: where the next record of each queue goes
}

func (d *Distributor) work(ctx context.Context, src device.Source) error {
	w := &distributing{
		Distributor: d, keys: make([]uint64, d.unitRecords), parts: make([]uint16, d.unitRecords),
		counts: make([]int, len(d.queues)), ends: make([]int, len(d.queues)),
	}
	var err error
	if w.unit, err = d.take(ctx); err != nil {
		return err
	}
	for {
		sorted, err := d.take(ctx) // before a unit is claimed, so that the one whose turn it is always has it
		if err != nil {
			return err
		}
		first, n, err := src.Next(d.unitRecords, func(int64, int) []byte { return w.unit.bytes })
		if err != nil {
			return err
		}
		if n == 0 {
			d.free <- sorted
			d.free <- w.unit
			return nil
		}
		w.sort(sorted, n)
		err = d.turns.pass(ctx, first, first+int64(n), func() error { return w.push(sorted) })
		if err != nil {
			return err
		}
	}
}

func (d *Distributor) take(ctx context.Context) (*distributedUnit, error) {
	select {
	case u := <-d.free:
		return u, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// sort copies the n records of the unit to dst, those of one queue after those of another.
func (w *distributing) sort(dst *distributedUnit, n int) {
	size := w.keyer.Layout().RecordSize
	keys, parts := w.keys[:n], w.parts[:n]
	w.keyer.Prefixes(keys, w.unit.bytes[:n*size])
	w.classifier.Classify(parts, keys)
	clear(w.counts)
	for i, p := range parts {
		q := w.queueOf[p]
		parts[i] = q
		w.counts[q]++
	}
	at := 0
	for q, count := range w.counts {
		w.ends[q] = at
		at += count * size
	}
	if size == 8 {
		scatter8(dst.bytes, w.unit.bytes, parts, w.ends)
		return
	}
	for i, q := range parts {
		copy(dst.bytes[w.ends[q]:], w.unit.bytes[i*size:(i+1)*size])
		w.ends[q] += size
	}
}

// scatter8 copies records of eight bytes, each to the end of its queue, with one load and one store.
func scatter8(dst, src []byte, queues []uint16, ends []int) {
	for i, q := range queues {
		at := ends[q]
		binary.NativeEndian.PutUint64(dst[at:at+8], binary.NativeEndian.Uint64(src[8*i:8*i+8]))
		ends[q] = at + 8
	}
}

// push hands the pieces of a unit to their queues.
func (w *distributing) push(u *distributedUnit) error {
	pieces := int32(0)
	for q, count := range w.counts {
		if count > 0 {
			pieces++
		}
		if w.queues[q].records+int64(count) > w.limits[q] {
			return ErrQueueFull
		}
	}
	u.pending.Store(pieces)
	at := 0
	for q, count := range w.counts {
		if n := count * w.keyer.Layout().RecordSize; n > 0 {
			w.queues[q].push(u.bytes[at:at+n], u)
			at += n
		}
	}
	return nil
}

// Share groups the parts of a classifier into n ranges that hold about the same number of the sample's keys: the range
// of each part, and the keys of the sample that lie in each range. REQUIRES: the sample is sorted.
func (c *Classifier) Share(sample []uint64, n int) (rangeOf []uint16, samples [][]uint64) {
	parts := make([]uint16, len(sample))
	c.Classify(parts, sample)
	inPart := make([]int, c.Parts())
	for _, p := range parts {
		inPart[p]++
	}
	rangeOf, samples = make([]uint16, c.Parts()), make([][]uint64, n)
	before := 0
	for p, count := range inPart {
		middle := before + count/2
		r := min(middle*n/max(len(sample), 1), n-1)
		rangeOf[p] = uint16(r)
		samples[r] = append(samples[r], sample[before:before+count]...)
		before += count
	}
	return rangeOf, samples
}
