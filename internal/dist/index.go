package dist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge"
)

// Each run has an index, DIR/runs/K.idx. Its second level contains the normalized key of every
// B-th record of the run, where B is Plan.IndexEvery. The first level, which comes first,
// contains every B-th key of the second level:
//
//	[record 0] [record B·B] [record 2·B·B] …    about one for each part
//	[record 0] [record B] [record 2·B] …        about B for each part
//
// Cut searches the first level, then the part of the second level between two keys of the first
// one. The results are brackets of about two blocks of B records in each run. Merge reads these
// records and finds the exact cut among them. It does not rely on the index: if the records at
// both ends of a bracket are on their sides of the cut, so are all records before and after the
// bracket.

// indexEvery returns the number of records between two keys. It balances the two costs of finding
// a cut: each part has as many keys in a run as there are records between two keys.
func indexEvery(records int64, runs, parts int) int64 {
	return int64(
		math.Ceil(math.Sqrt(float64(records) / float64(runs) / float64(parts))),
	)
}

func indexFile(run string) string { return run + ".idx" }

// KeyBytes returns the size of a key in an index.
func KeyBytes(p *Plan) int64 { return int64(p.keyer.KeySize()) }

// levelsOf returns the number of keys in each level of the index of run k, and the number of
// records of the run.
func levelsOf(p *Plan, k int) [3]int64 {
	first, end := partOf(k, p.Runs).Of(p.Records)
	keys := ceilDiv(end-first, p.IndexEvery)
	return [3]int64{ceilDiv(keys, p.IndexEvery), keys, end - first}
}

// ceilDiv returns n / by, rounded up.
func ceilDiv(n, by int64) int64 { return (n + by - 1) / by }

// index is the second level of the index of a run that is being written.
type index struct {
	keyer *format.Keyer
	every int64
	keys  []byte
}

func newIndex(p *Plan, k int) *index {
	return &index{p.keyer, p.IndexEvery, make(
		[]byte, levelsOf(p, k)[1]*KeyBytes(p),
	)}
}

// add adds the keys of consecutive records; first is the index of the first one in the run.
func (x *index) add(first int64, recs []byte) {
	size := int64(x.keyer.Layout().RecordSize)
	key := int64(x.keyer.KeySize())
	for i := ceilDiv(first, x.every); i*x.every < first+int64(len(recs))/size &&
		(i+1)*key <= int64(len(x.keys)); i++ {
		at := (i*x.every - first) * size
		x.keyer.Append(x.keys[i*key:i*key:(i+1)*key], recs[at:at+size])
	}
}

// write writes both levels.
func (x *index) write(to io.Writer) error {
	w := bufio.NewWriter(to)
	key := int64(x.keyer.KeySize())
	for at := int64(0); at < int64(len(x.keys)); at += x.every * key {
		w.Write(x.keys[at : at+key]) // Flush returns the error
	}
	w.Write(x.keys)
	return w.Flush()
}

// indexes returns both levels of the indexes of all runs. It returns an error if an index is
// missing or has a wrong size.
func indexes(
	ctx context.Context, p *Plan,
) (levels [2][]merge.Sorted, err error) {
	levels[0] = make([]merge.Sorted, p.Runs)
	levels[1] = make([]merge.Sorted, p.Runs)
	return levels, runConcurrently(ctx, p.Runs, func(_ context.Context, k int) error {
		name := indexFile(p.runFile(k))
		keys := levelsOf(p, k)
		info, err := os.Stat(name)
		due := (keys[0] + keys[1]) * KeyBytes(p)
		if err == nil &&
			info.Size() != due {
			err = fmt.Errorf("has %d bytes instead of %d", info.Size(), due)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, device.WithoutPath(err))
		}
		levels[0][k] = recordsInFile(name, 0, keys[0], KeyBytes(p))
		levels[1][k] = recordsInFile(name, keys[0], keys[1], KeyBytes(p))
		return nil
	})
}

// recordsInFile returns n records in a file. It does not keep the file open, because there may be
// more runs than file descriptors.
func recordsInFile(name string, first, n, size int64) merge.Sorted {
	return merge.Sorted{Records: n, ReadRecords: func(p []byte, at int64) error {
		file, err := os.Open(name)
		if err == nil {
			defer file.Close() // closing a file that was only read cannot lose data
			_, err = file.ReadAt(p, (first+at)*size)
		}
		if err != nil {
			err = fmt.Errorf("read %s: %w", name, device.WithoutPath(err))
		}
		return err
	}}
}

// brackets returns the brackets of the cuts between two parts, including the one before from and
// the one before to.
func (w *Worker) brackets(
	ctx context.Context, levels [2][]merge.Sorted, from, to int,
) ([]cut, error) {
	p := w.Plan
	found := make([]cut, to-from+1)
	memory := memoryLimit(w.Options.MemoryBytes) / 4
	keyer, err := format.NewKeyer(format.Whole(p.keyer.KeySize()))
	if err != nil {
		return nil, err
	}
	// In both levels: the last key before each cut, and the first key after it.
	var ranks, keys []int64
	for k := from; k <= to; k++ {
		low, high := certainKeys(rank(p, k), rank(p, k), p.IndexEvery, levels[1])
		keys = append(keys, low, high)
		low, high = certainKeys(low, high, p.IndexEvery, levels[0])
		ranks = append(ranks, low, high)
	}
	whole := bracket{make([]int64, p.Runs), make([]int64, p.Runs)}
	for i, in := range levels[0] {
		whole.to[i] = in.Records
	}
	first, err := search(ctx, keyer, levels[0], whole, memory, ranks)
	if err != nil {
		return nil, err
	}
	return found, runConcurrently(ctx, len(found), func(ctx context.Context, i int) error {
		b := levelRange(p, first[2*i], first[2*i+1], 1)
		second, err := search(
			ctx,
			keyer,
			levels[1],
			b,
			memory/plan.RemoteRequests,
			keys[2*i:2*i+2],
		)
		if err == nil {
			b = levelRange(p, second[0], second[1], 2)
			found[i] = cut{
				Schema: schema,
				Plan:   p.Fingerprint,
				At:     b.from,
				To:     b.to,
			}
		}
		return err
	})
}

// rank returns the number of records before part k.
func rank(p *Plan, k int) int64 {
	if k == 0 {
		return 0
	}
	_, end := partOf(k-1, p.Parts).Of(p.Records)
	return end
}

// certainKeys limits where cuts are among all keys of a level, in ascending order: the first before
// keys are certainly before a cut of rank low, and the keys from index behind on are certainly
// after a cut of rank high. The i-th of all keys, from 0, has at most i blocks before it, and at
// least i-(R-1) complete ones.
func certainKeys(
	low, high, every int64, level []merge.Sorted,
) (before, behind int64) {
	all := int64(0)
	for _, in := range level {
		all += in.Records
	}
	return ceilDiv(low, every), min(ceilDiv(high, every)+int64(len(level))-1, all)
}

// A bracket is a range of each run, or of a level of its index.
type bracket struct{ from, to []int64 }

// levelRange returns the range of the level below in which a cut is, from the last key before it to
// the first key after it, both included.
func levelRange(p *Plan, before, behind []int64, below int) bracket {
	b := bracket{make([]int64, p.Runs), make([]int64, p.Runs)}
	for i := range b.from {
		b.from[i] = max(before[i]-1, 0) * p.IndexEvery
		b.to[i] = min(behind[i]*p.IndexEvery+1, levelsOf(p, i)[below])
	}
	return b
}

// search finds the cuts with the given ranks in a bracket, within a memory limit. It reads the
// records that it needs first concurrently, together with most of the records that it needs
// later. REQUIRES: the bracket contains the ranks
func search(ctx context.Context, k *format.Keyer, in []merge.Sorted, b bracket, memory int64,
	ranks []int64) ([][]int64, error) {
	size := k.Layout().RecordSize
	page := max(memory/int64(len(in)*size), 1)
	within := make([]merge.Sorted, len(in))
	before := int64(0)
	for i := range in {
		within[i] = in[i].Within(b.from[i], b.to[i], page)
		before += b.from[i]
	}
	inside := make([]int64, len(ranks))
	for i, rank := range ranks {
		inside[i] = rank - before
	}
	err := runConcurrently(ctx, len(in), func(_ context.Context, i int) error {
		if within[i].Records == 0 {
			return nil
		}
		return within[i].ReadRecords(make([]byte, size), within[i].Records/2)
	})
	if err != nil {
		return nil, err
	}
	cuts, err := merge.Cuts(ctx, k, within, inside, false)
	for _, at := range cuts {
		for i := range at {
			at[i] += b.from[i]
		}
	}
	return cuts, err
}

// errBracket means that an index, or a bracket made from it, is damaged.
var errBracket = errors.New("an index does not fit its run")

// exactCuts finds the cuts before and after part k, using brackets if they are known. It returns a
// slice for all parts in which only these cuts are set. It returns nil if the cuts must be
// searched in the whole runs.
func (w *Worker) exactCuts(
	ctx context.Context, k int, cuts [2]cut,
) ([][]int64, error) {
	p := w.Plan
	all := make([][]int64, w.Plan.Parts+1)
	runs := make([]merge.Sorted, p.Runs)
	for i := range runs {
		first, end := partOf(i, p.Runs).Of(p.Records)
		runs[i] = recordsInFile(p.runFile(i), 0, end-first, int64(p.RecordBytes))
	}
	err := runConcurrently(ctx, len(cuts), func(ctx context.Context, i int) (err error) {
		all[k+i], err = w.cutInBracket(ctx, runs, cuts[i], rank(p, k+i))
		return err
	})
	if err == errBracket {
		w.Tell(
			fmt.Sprintf(
				"%v: searching all runs for the cuts of part %d", err, k,
			),
		)
		return nil, nil
	}
	return all, err
}

// cutInBracket finds a cut in its bracket. This cut is valid for all records if the first record of
// the bracket is before the cut, which implies the same for all records before it, and the last
// record is after the cut.
func (w *Worker) cutInBracket(
	ctx context.Context, runs []merge.Sorted, c cut, rank int64,
) ([]int64, error) {
	if c.To == nil {
		return c.At, nil
	}
	if !c.mayContain(runs, rank) {
		return nil, errBracket
	}
	memory := memoryLimit(w.Options.MemoryBytes) / 8
	found, err := search(ctx, w.Plan.keyer, runs, bracket{c.At, c.To}, memory, []int64{rank})
	if err != nil {
		return nil, err
	}
	for i, at := range found[0] {
		isFirst := at == c.At[i] && at > 0
		isLast := at == c.To[i] && at < runs[i].Records
		if isFirst || isLast {
			return nil, errBracket
		}
	}
	return found[0], nil
}

// mayContain reports whether the bracket of a cut lies within the runs and contains a rank.
func (c *cut) mayContain(runs []merge.Sorted, rank int64) bool {
	if len(c.At) != len(runs) || len(c.To) != len(runs) {
		return false
	}
	before, behind := int64(0), int64(0)
	for i, run := range runs {
		isOrdered := 0 <= c.At[i] && c.At[i] <= c.To[i] && c.To[i] <= run.Records
		if !isOrdered {
			return false
		}
		before += c.At[i]
		behind += c.To[i]
	}
	return before <= rank && rank <= behind
}
