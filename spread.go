package extsort

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// bySpread lets all devices sort at once what fits their memories together: each gets a range of keys, as the sample
// cuts them, in one pass over the data, and writes it at its place in the output. Nothing is spilled or merged. It
// reports false, with nothing lost, when a range turns out larger than its device: then it is to be sorted otherwise.
func (s *sorting) bySpread(ctx context.Context, out *output) (done bool, err error) {
	p := s.planSpread()
	if p == nil {
		return false, nil
	}
	chunks, err := s.spreadChunks(ctx, p)
	defer func() {
		for _, c := range chunks {
			err = errors.Join(err, c.Close())
		}
	}()
	if err != nil {
		return false, err
	}
	s.meter.begin(stageRead, atInput, s.data.Records()*int64(s.size))
	counts, err := s.loadSpread(ctx, p, chunks)
	s.endPhase()
	if errors.Is(err, chunker.ErrQueueFull) {
		s.forget(out)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.report.Strategy = Spread
	s.beginClosing()
	s.meter.begin(stageWrite, atOutput, s.bytesIn())
	defer s.endPhase()
	return true, s.storeSpread(ctx, chunks, counts, out)
}

// spreadPlan says which device gets what.
type spreadPlan struct {
	classifier *chunker.Classifier
	deviceOf   []uint16   // of each part of the classifier
	samples    [][]uint64 // keys of the sample, for each device
	limits     []int64    // records of each device
	queueBytes int64      // memory of the distributor
	chunkBytes int64      // host memory of each chunk
}

const (
	spreadParts = 64 // parts for each device: its range is as even as that
	spreadSlack = 8  // a device is given room for its share and an eighth of the data: more than any sample errs
)

// planSpread cuts the data into a range for each device; nil where that cannot be: some range is too large, or the
// data are a stream.
func (j *job) planSpread() *spreadPlan {
	n, sample := j.data.Records(), j.keys()
	if len(j.devices) < 2 || n < 0 || len(sample) == 0 || !allSeekable(j.inputs) {
		return nil
	}
	slices.Sort(sample)
	p := &spreadPlan{classifier: chunker.NewClassifier(sample, spreadParts*len(j.devices)), queueBytes: j.budget / 4}
	p.chunkBytes = (j.budget - p.queueBytes) / int64(len(j.devices))
	p.deviceOf, p.samples = p.classifier.Share(sample, len(j.devices))
	for i, d := range j.devices {
		share := int64(float64(n) * float64(len(p.samples[i])) / float64(len(sample)))
		most := j.opt.faults.capped(d.MaxRecords(j.chunkOptions(), p.chunkBytes))
		if most < share {
			return nil
		}
		p.limits = append(p.limits, min(most, n, share+n/spreadSlack+1))
	}
	return p
}

// spreadChunks makes one chunk on each device.
func (s *sorting) spreadChunks(ctx context.Context, p *spreadPlan) (chunks []device.Chunk, err error) {
	opt := s.chunkOptions()
	opt.MemoryBytes = p.chunkBytes
	for i, d := range s.devices {
		opt.Records, opt.Sample = p.limits[i], p.samples[i]
		c, err := d.NewChunk(ctx, opt)
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// loadSpread distributes the data over the chunks, and tells how many records each has got.
func (s *sorting) loadSpread(ctx context.Context, p *spreadPlan, chunks []device.Chunk) ([]int64, error) {
	distributor, err := chunker.NewDistributor(s.keyer, p.classifier, p.deviceOf, p.limits, s.opt.Workers, p.queueBytes)
	if err != nil {
		return nil, err
	}
	defer distributor.Close()
	group, groupCtx := errgroup.WithContext(ctx)
	for i, q := range distributor.Queues() {
		group.Go(func() error {
			_, err := chunks[i].Load(groupCtx, q)
			return err
		})
	}
	group.Go(func() error {
		for _, src := range s.data.Split(1) {
			if err := distributor.Run(groupCtx, src); err != nil {
				return err
			}
		}
		return nil
	})
	err = group.Wait()
	return distributor.Counts(), err
}

// storeSpread lets all chunks be sorted and written at once.
func (s *sorting) storeSpread(ctx context.Context, chunks []device.Chunk, counts []int64, w device.BlockWriter) error {
	group, groupCtx := errgroup.WithContext(ctx)
	base := int64(0)
	for i, c := range chunks {
		target := merge.Offset(base, w)
		base += counts[i]
		group.Go(func() error { return s.sortAndStore(groupCtx, c, target) })
	}
	return group.Wait()
}
