package extsort

import (
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/extsort/extsort/device"
	sinks "github.com/extsort/extsort/merge/output"
)

// Sorting in passes: each reads the whole input, takes the least keys that were not taken yet, as many as fit memory, sorts them and
// writes them behind those before (Munro and Paterson, "Selection and sorting with limited storage", 1980). Nothing is spilled, and
// every record is moved and written once. It costs to read the input again, which is cheap while the page cache holds it.
//
// One pass is sorting in core. Then too there may be more of them than memory asks for: memory that was never used may cost more to
// touch than the input to read. That is planned where reading is fast, see passesInMemory, and found out while memory is touched,
// see device.Chunk. And where only the first records of the order are wanted, few are taken.

// canReread reports whether the input can be read again and again, from the page cache, and each time some of it left out.
func (j *job) canReread() bool {
	bytes := j.data.Records() * int64(j.size)
	return bytes >= 0 && j.onCPU() && j.can().Selects && allSeekable(j.inputs) && bytes <= j.mappable()
}

// mayReread reports whether that is to be weighed, or was asked for and can be done.
func (j *job) mayReread() bool {
	if j.opt.Strategy == Reread {
		return j.canReread()
	}
	if j.data.Records() <= j.capacity {
		return j.sparesMemory()
	}
	return j.data.Records() <= j.mostReread() && j.canReread() && j.keysFit()
}

const (
	// passesInMemory is how many passes sort what would fit memory, where that pays: they touch a third of it. On a machine with an EPYC
	// (Zen 5) whose host takes back what is free two workers took 0.59 s for 1 GiB of u64 by three passes, 0.71 by two, and 0.74 by
	// one, which found out on the way that it takes several; 256 MiB took 0.17, 0.18 and 0.22, 2 GiB 1.2, 2.1 and 2.3.
	passesInMemory = 3

	// sparedFrom is the least data for that, in bytes: 64 and 128 MiB took 0.055 and 0.086 s by one pass, and 0.066 and 0.10 by three.
	sparedFrom = 256 << 20

	// fastReads is how many bytes a second one worker must read from all over the input for that, by timeReads: 11 to 30 GB/s there. On a
	// machine with a Xeon (Emerald Rapids), where it was 7 to 10 GB/s, three passes took 1.02 to 1.24 times as long as one.
	fastReads = 10e9

	// mostCounted is the part of the records that may be so frequent that they are only counted, for the rest to take enough memory that
	// it matters how fast that is. 1 GiB of 16 values was sorted in 0.55 s, and in 2.5 when it was written as what gives memory back
	// (cp took 0.30).
	mostCounted = 0.5
)

// reclaimed reports whether the data are so many that it matters that a host takes back what memory is free.
func (j *job) reclaimed() bool {
	return j.data.Records()*int64(j.size) >= sparedFrom && hostTakesMemory()
}

// sparesMemory reports whether data that fit memory may be worth to be read several times, because memory may be slow to touch.
func (j *job) sparesMemory() bool {
	if !j.reclaimed() || j.wanted() >= 0 || j.ordered || !j.isApart() || !j.canReread() {
		return false
	}
	read, ok := j.readTrial()
	return ok && read >= fastReads
}

// mostPassesMoved is how many passes may pay for records that are moved whole: their order is kept account of in all that is read.
const mostPassesMoved = 4

// mostReread is how many records may be worth it to read again for every chunk.
func (j *job) mostReread() int64 {
	if j.can().WholeRecords {
		return mostPassesMoved * j.capacity
	}
	return math.MaxInt64
}

// passesFrom is the data, in bytes, from which on it is worth a thought that sorting in core may take more than one pass.
const passesFrom = 64 << 20

// inPasses reports whether the data are to be sorted in passes. To a stream only one is to write, unless asked for.
func (s *sorting) inPasses(out *output) bool {
	records := s.data.Records()
	switch s.plan.Strategy {
	case Reread:
		return (out.isApart() || s.plan.Chunks == 1 || s.opt.Strategy == Reread) && s.canReread()
	case InCore:
		few := s.wanted() >= 0 && s.wanted() <= records/chunkOfLimit // for so few it does not matter whether memory is slow
		return (out.isApart() || few) && records*int64(s.size) >= passesFrom && s.canReread()
	}
	return false
}

// passFill is how full the chunks of so many passes are meant to be: twice the error of the sample, of n keys, rarely makes more of
// it, and if it does the pass takes less.
func passFill(passes float64, n int) float64 {
	return 1 / (1 + 2*math.Sqrt(passes/float64(max(n, 1))))
}

// passesOf is the number of passes for so many records in chunks of a capacity.
func passesOf(records, capacity int64) int {
	if records <= capacity {
		return 1
	}
	passes := float64(records) / float64(capacity)
	return int(math.Ceil(passes / passFill(passes, sampleSize)))
}

const (
	// cachedBytes is what one worker reads in a second of what the page cache holds, at least.
	cachedBytes = 3.25e9

	// readersPower is how readers that share a memory add up: to look at 1 GiB of u64 of which nearly nothing is taken took 1, 2 and
	// 16 of them 0.1, 0.06 to 0.075 and 0.02 s.
	readersPower = 0.65
)

// againBytes is how many bytes of the input all workers together read in a second: as many as one of them if that is far less than the
// page cache gives, and so a disk's.
func (j *job) againBytes() float64 {
	one := j.rates.readBytes
	if !j.rates.measured {
		if timed, ok := j.readTrial(); ok && timed < cachedBytes {
			one = timed
		}
	}
	if one < cachedBytes {
		return one
	}
	return one * math.Pow(float64(j.opt.Workers), readersPower)
}

// keysFit reports whether no key of the sample is so frequent that it may fill a chunk alone.
func (j *job) keysFit() bool {
	keys := slices.Sorted(slices.Values(j.sample.Prefixes))
	most := int(0.9 * float64(j.capacity) / float64(max(j.data.Records(), 1)) * float64(len(j.sample.Prefixes)))
	for i := most; i < len(keys); i++ {
		if keys[i] == keys[i-most] {
			return false
		}
	}
	return true
}

// byPasses sorts the data in passes. It reports false, with nothing lost, when that turns out not to be possible.
func (s *sorting) byPasses(ctx context.Context, out *output) (done bool, err error) {
	p := &passes{sorting: s, out: out, keys: s.keys(), all: s.data.Records(), room: s.capacity}
	slices.Sort(p.keys)
	p.share = p.firstShare()
	if err = p.holdInputs(); err == nil {
		err = p.run(ctx)
	}
	inVain := errors.Is(err, errors.ErrUnsupported) || errors.Is(err, device.ErrTooMany)
	if inVain || p.begun <= 1 {
		p.releaseInputs()
	}
	if inVain {
		out.resume()
		s.forget(out)
		return false, nil
	}
	if s.report.Strategy = InCore; p.begun > 1 {
		s.report.Strategy = Reread
	}
	return true, err
}

// holdInputs lets no change of an input go unnoticed that would make several passes a mixture.
func (p *passes) holdInputs() error {
	for _, in := range p.inputs {
		if err := in.Hold(); err != nil {
			return err
		}
	}
	return nil
}

func (p *passes) releaseInputs() {
	for _, in := range p.inputs {
		in.Release()
	}
}

// passes is the state between two passes.
type passes struct {
	*sorting
	out   *output
	keys  []uint64 // prefixes of the sample, in order
	all   int64    // records of the input
	room  int64    // records that are expected to fit a chunk
	share float64  // of all records that a pass takes, at most
	most  float64  // of all records that fit a chunk, or were planned for one
	low   uint64   // the least prefix that was not taken yet
	taken int64    // records
	begun int      // passes
}

// firstShare is what was planned, or fits a chunk, or what the limit asks for: the sample's error then rarely makes it less.
func (p *passes) firstShare() float64 {
	share := 1 / float64(max(p.plan.Chunks, 1))
	if p.all > p.room {
		passes := float64(p.all) / float64(p.room)
		share = passFill(passes, len(p.keys)) / passes
	}
	p.most = share
	if n := p.wanted(); n >= 0 && len(p.keys) > 0 {
		wanted, keys := float64(n)/float64(max(p.all, 1)), float64(len(p.keys))
		share = min(share, wanted+4*math.Sqrt(wanted/keys)+8/keys)
	}
	return share
}

// wanted is about how many of the first records of the order are needed; -1: all may be.
func (j *job) wanted() int64 {
	if j.opt.Limit == 0 || !j.opt.Unique {
		return j.limit()
	}
	if j.distinct == nil {
		n := recordsOf(j.opt.Limit, j.data.Records(), j.sample.Prefixes)
		j.distinct = &n
	}
	return *j.distinct
}

// recordsOf is about how many of so many records, from the least on, have a number of distinct keys, by a sample of prefixes: those
// between two that are not the same are taken to be different, too. -1: all, and maybe they have not.
func recordsOf(distinct, records int64, sample []uint64) int64 {
	sample = slices.Clone(sample)
	slices.Sort(sample)
	each := float64(max(records, 0)) / float64(max(len(sample), 1))
	seen := 0.0
	for i, key := range sample {
		switch {
		case i > 0 && sample[i-1] == key:
		case i+1 < len(sample) && sample[i+1] == key:
			seen++
		default:
			seen += each
		}
		if seen >= float64(distinct) {
			return max(distinct, int64(each*float64(i)))
		}
	}
	return -1
}

func (p *passes) run(ctx context.Context) error {
	more, err := p.first(ctx)
	if !more || err != nil {
		return err
	}
	first := p.taken
	p.meter.begin(stagePasses, atOutput, p.due(p.all-first)*int64(p.size))
	for more && err == nil {
		p.takeMore()
		again := p.data.(*watchDataset).Dataset.Split(1)[0] // the first pass has counted the records
		more, err = p.pass(ctx, again, func(int64) {})
	}
	p.meter.end((p.written() - first) * int64(p.size))
	return err
}

// first is the first pass, which sees all records. It reports whether more have to follow.
func (p *passes) first(ctx context.Context) (more bool, err error) {
	p.meter.begin(stageRead, atInput, p.all*int64(p.size))
	more, err = p.pass(ctx, p.data.Split(1)[0], func(n int64) {
		p.meter.end(p.bytesIn())
		p.meter.begin(stageWrite, atOutput, p.due(n)*int64(p.size))
	})
	p.meter.end(p.written() * int64(p.size))
	return more, err
}

// due is how many of the next n records are to be written.
func (p *passes) due(n int64) int64 {
	if limit := p.limit(); limit >= 0 {
		return min(n, limit-p.taken)
	}
	return n
}

// written is how many of the records that were taken were to be written.
func (p *passes) written() int64 {
	if limit := p.limit(); limit >= 0 {
		return min(p.taken, limit)
	}
	return p.taken
}

// pass loads the least keys of src that were not taken yet, tells loaded how many they are, sorts and writes them. It reports
// whether more have to follow.
func (p *passes) pass(ctx context.Context, src device.Source, loaded func(n int64)) (more bool, err error) {
	chunk, err := p.pool.get(ctx)
	if err != nil {
		return false, err
	}
	defer p.pool.put(chunk)
	high := p.high()
	n, last, err := chunk.Select(ctx, &sampledSource{src, p.keys}, p.low, high)
	if err != nil {
		return false, err
	}
	p.begun++
	loaded(n)
	if last < high {
		p.takeLess(n)
	}
	if err := chunk.Sort(ctx); err != nil {
		return false, err
	}
	to := p.out.BlockWriter
	if p.taken > 0 {
		to = sinks.Offset(p.taken, to)
	}
	more = last < math.MaxUint64 && p.taken+n < p.all && p.due(n+1) > n
	if more {
		err = p.store(ctx, chunk, to)
	} else {
		err = p.drain(ctx, chunk, to)
	}
	p.low, p.taken = last+1, p.taken+n
	return more && !p.enough(), err
}

// enough reports whether all of the output is written: with Unique, fewer of the records that were taken.
func (p *passes) enough() bool { return p.opt.Limit > 0 && p.out.records.Load() >= p.opt.Limit }

// takeLess lets all passes take as little as the first, if that took only n records because memory was slow; but not if they were
// all that there was room for.
func (p *passes) takeLess(n int64) {
	slow := p.all <= p.room || 2*n < p.room
	if p.begun == 1 && slow {
		p.share = max(min(p.share, float64(n)/float64(p.all)), p.share/leastPart)
	}
}

// takeMore lets a pass take more than the one before where there were not as many keys as a limit asks for.
func (p *passes) takeMore() {
	if p.opt.Unique && p.wanted() >= 0 {
		p.share = min(moreForKeys*p.share, p.most)
	}
}

// moreForKeys is how many times as many records the next pass takes then.
const moreForKeys = 16

// leastPart bounds how much less the passes take because the first took less than it was asked to.
const leastPart = 16

// high is the greatest prefix that the next pass is to take: the passes to come share what is left. Where a limit is all that the
// first asks for, it takes its share.
func (p *passes) high() uint64 {
	from, _ := slices.BinarySearch(p.keys, p.low)
	left, share := float64(len(p.keys)-from), float64(len(p.keys))*p.share
	passes := math.Ceil(left / share)
	if due := math.Round(1/p.share) - float64(p.begun); p.all <= p.room && due >= 1 {
		passes = min(passes, due) // which may take more than their share: one more pass would take longer
	}
	if left == 0 || passes <= 1 {
		return math.MaxUint64
	}
	take := left / passes
	if p.begun == 0 && p.wanted() >= 0 {
		take = share
	}
	at := min(from+int(take), len(p.keys)-1)
	next := p.keys[at]
	first, _ := slices.BinarySearch(p.keys, next)
	end := sort.Search(len(p.keys), func(i int) bool { return p.keys[i] > next })
	nearer := p.all <= p.room && at-first > end-at // where there is room to take a little more
	switch {
	case first > from && !nearer:
		return next - 1
	case end == len(p.keys):
		return math.MaxUint64
	}
	return next // if it is the first, a pass takes it alone, rather than nothing
}

// sampledSource is a source with a sample of all its records.
type sampledSource struct {
	device.Source
	sample []uint64
}

// Sample gives the prefixes of the sample.
func (s *sampledSource) Sample() []uint64 { return s.sample }
