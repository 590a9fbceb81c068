package extsort

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// bySpread lets all devices sort at once what fits their memories together: each a share of the data by position, so
// that every device loads at the rate of its own link and has the same work whatever the keys are. The sorted shares
// are merged on their way out of the devices; nothing is spilled. It reports false when the data do not fit.
//
// (Sharing by key ranges would leave nothing to merge. But then every record has to be sent its way by the host before
// it is loaded: with two H200 that took 1.29 s for 16 GiB of u64, which one of them loads in 0.53 s. The keys of two
// shares are merged in the time that it takes to download them. Only where the data are in the reverse order, or nearly,
// does one device store after the other.)
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
	s.report.Strategy = Spread
	s.meter.begin(stageRead, atInput, s.data.Records()*int64(s.size))
	err = s.loadSpread(ctx, p, chunks)
	s.endPhase()
	if err != nil {
		return false, err
	}
	s.meter.begin(stageWrite, atOutput, s.bytesIn())
	defer s.endPhase()
	return true, s.mergeSpread(ctx, p, chunks, out)
}

// spreadPlan says which device gets what.
type spreadPlan struct {
	devices    []device.Device // that have a share
	shares     []int64         // records of each, in the order of the data
	chunkBytes int64           // host memory of each chunk
	blockBytes int             // of what the chunks store
	mergeBytes int64           // host memory of the merge
}

const (
	// spreadBlockBytes are the blocks that a device stores for the merge: as much as its staging slots hold, since
	// every block is one cut.
	spreadBlockBytes = 4 << 20
	// spreadBlockRecords bounds blocks of small records, whose keys take 8 bytes each while they are merged.
	spreadBlockRecords = 1 << 19
	// spreadBlocks is how many blocks the host memory of a chunk has room for at least.
	spreadBlocks = 16
)

// planSpread cuts the data by position into a share for each device; nil where that cannot be: the devices hold less,
// or the data are a stream.
func (j *job) planSpread() *spreadPlan {
	n := j.data.Records()
	if len(j.devices) < 2 || n < 0 || !allSeekable(j.inputs) {
		return nil
	}
	p := &spreadPlan{chunkBytes: j.budget / 2 / int64(len(j.devices)), mergeBytes: j.budget / 2}
	bytes := min(spreadBlockBytes, p.chunkBytes/spreadBlocks, spreadBlockRecords*int64(j.size))
	p.blockBytes = j.opt.faults.block(int(max(bytes/int64(j.size), 1))*j.size, j.size)
	var limits []int64
	var rates []float64
	for _, d := range j.devices {
		limits = append(limits, j.opt.faults.capped(d.MaxRecords(p.chunkOptions(j), p.chunkBytes)))
		rates = append(rates, rateOf(d.Info()).throughput())
	}
	shares := share(n, rates, limits)
	for i, records := range shares {
		if records > 0 {
			p.devices, p.shares = append(p.devices, j.devices[i]), append(p.shares, records)
		}
	}
	if shares == nil {
		return nil
	}
	return p
}

// sharing is how many devices can share the data; 0: they cannot.
func (j *job) sharing() int {
	p := j.planSpread()
	if p == nil {
		return 0
	}
	return len(p.devices)
}

func (p *spreadPlan) chunkOptions(j *job) device.ChunkOptions {
	opt := j.chunkOptions()
	opt.MemoryBytes, opt.BlockBytes = p.chunkBytes, p.blockBytes
	opt.Workers = max(1, j.opt.Workers/len(j.devices)) // they are all at work at once
	return opt
}

// throughput is the bytes per second that go in, are sorted and come out again.
func (g gpuRates) throughput() float64 { return 1 / (2/g.linkBytes + 1/g.sortBytes) }

// share divides n records by rates, with limits; nil if the limits are less than n together.
func share(n int64, rates []float64, limits []int64) []int64 {
	shares := make([]int64, len(limits))
	for left, full := n, false; left > 0; {
		if full {
			return nil
		}
		total := 0.0
		for i, rate := range rates {
			if shares[i] < limits[i] {
				total += rate
			}
		}
		full = true
		for i, rate := range rates {
			if room := limits[i] - shares[i]; room > 0 {
				more := min(room, left, int64(float64(left)*rate/total)+1)
				shares[i], left, total = shares[i]+more, left-more, total-rate
				full = full && more == room
			}
		}
	}
	return shares
}

// spreadChunks makes one chunk on each device.
func (s *sorting) spreadChunks(ctx context.Context, p *spreadPlan) (chunks []device.Chunk, err error) {
	opt := p.chunkOptions(s.job)
	sample, total, at := opt.Sample, float64(s.data.Records()), int64(0)
	place := func(record int64) int { return int(float64(record) / total * float64(len(sample))) }
	for i, d := range p.devices {
		end := at + p.shares[i]
		opt.Records, opt.Sample = p.shares[i], sample[place(at):place(end)] // the sample has the order of the data
		at = end
		c, err := d.NewChunk(ctx, opt)
		if err != nil {
			return chunks, err
		}
		chunks = append(chunks, c)
	}
	return chunks, nil
}

// loadSpread loads all chunks at once.
func (s *sorting) loadSpread(ctx context.Context, p *spreadPlan, chunks []device.Chunk) error {
	var sources []device.Source
	for _, records := range p.shares {
		src, err := s.data.Cut(records)
		if err != nil {
			return err
		}
		sources = append(sources, src)
	}
	group, ctx := errgroup.WithContext(ctx)
	for i, c := range chunks {
		group.Go(func() error {
			_, err := c.Load(ctx, sources[i])
			return err
		})
	}
	return group.Wait()
}

// mergeSpread sorts all chunks at once and merges what they store.
func (s *sorting) mergeSpread(ctx context.Context, p *spreadPlan, chunks []device.Chunk, w device.BlockWriter) error {
	var inputs []merge.Stored
	for i, c := range chunks {
		in := merge.Stored{Records: p.shares[i], BlockBytes: p.blockBytes}
		if limit := s.limit(); limit >= 0 {
			in.Records = min(in.Records, limit)
		}
		in.Store = func(ctx context.Context, w device.BlockWriter) error { return s.sortAndStore(ctx, c, w) }
		inputs = append(inputs, in)
	}
	opt := s.mergeOptions()
	opt.MemoryBytes = p.mergeBytes
	s.report.FanIn, s.report.MergeLevels = len(inputs), 1
	_, err := merge.Stores(ctx, opt, inputs, w)
	return err
}
