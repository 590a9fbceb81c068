package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
)

// recordInputs contains the open inputs of a verb that reads records in input order.
type recordInputs struct {
	header  *format.Header
	records int64 // -1: not known
	files   *input.Files
	stream  *input.Stream
}

// openRecords opens the files, or standard input if no files are given.
func openRecords(
	ctx context.Context, a *app, v *flagValues, files []string,
) (*recordInputs, error) {
	if len(files) == 0 {
		files = []string{"-"}
		if err := a.checkInput(nil); err != nil {
			return nil, err
		}
	}
	v.guessFormat(files)
	spec := format.AnyOrder(v.opt.Record)
	if err := cmp.Or(mistakenForm(spec.Format), v.checkFirstInput(files), validateRecord(spec)); err != nil {
		return nil, err
	}
	kind := input.Kind{
		Spec: spec,
		Recognition: format.Recognition{
			Raw:        v.opt.Raw,
			Decompress: v.opt.Decompress,
		},
		Frame: input.Frame{
			Skip:    v.opt.SkipBytes,
			Records: v.opt.Records,
			Tail:    v.opt.SkipTail,
		},
	}
	if err := kind.Recognition.Validate(spec); err != nil {
		return nil, err
	}
	opened, err := input.Open(
		ctx, kind, input.Named(files...), a.stdin, v.windowBytes(),
	)
	if err != nil {
		return nil, err
	}
	for _, one := range opened {
		for _, message := range one.TakeWarnings() {
			a.warn(message)
		}
	}
	in := &recordInputs{header: opened[0].Header, records: -1}
	isStream := func(one *input.Input) bool { return !one.Seekable() }
	if slices.ContainsFunc(opened, isStream) {
		in.stream = input.NewStream(opened)
		return in, nil
	}
	in.files = input.NewFiles(opened)
	in.records = in.files.Records()
	return in, nil
}

func (in *recordInputs) Close() error {
	if in.files != nil {
		return in.files.Close()
	}
	return in.stream.Close()
}

func (in *recordInputs) checkUnchanged(warn func(string)) error {
	if in.files != nil {
		return in.files.Check(warn)
	}
	return in.stream.Check(warn)
}

func (in *recordInputs) recordSize() int {
	return in.header.Layout().RecordSize
}

// A recordReader returns the next records in buf, or none at the end.
type recordReader func(buf []byte) (recs []byte, err error)

// reader returns a reader of the records [first, end). end may be toEnd.
func (in *recordInputs) reader(first, end int64) recordReader {
	size := int64(in.recordSize())
	if in.files != nil {
		if end == toEnd || end > in.records {
			end = in.records
		}
		return func(buf []byte) ([]byte, error) {
			n := min(int64(len(buf))/size, end-first)
			if n <= 0 {
				return nil, nil
			}
			first += n
			return buf[:n*size], in.files.ReadRecords(buf[:n*size], first-n)
		}
	}

	source := in.stream.Split(1)[0]
	at := int64(0)
	return func(buf []byte) ([]byte, error) {
		for {
			want := int64(len(buf)) / size
			if end != toEnd {
				want = min(want, end-at)
			}
			if want <= 0 {
				return nil, nil
			}
			_, n, err := source.Next(int(want), func(_ int64, n int) []byte {
				return buf[:n*int(size)]
			})
			if err != nil || n == 0 {
				return nil, err
			}
			skipped := min(max(first-at, 0), int64(n))
			at += int64(n)
			if skipped < int64(n) {
				return buf[skipped*size : int64(n)*size], nil
			}
		}
	}
}

const (
	// maxKeptBytes limits the records of a stream that --tail and --sample keep in memory, and the positions that
	// --sample keeps.
	maxKeptBytes = 1 << 30

	// positionBytes is the memory for the position of a record.
	positionBytes = 8
)

// checkKept returns an error if a flag would keep too many records of a stream in memory.
func (in *recordInputs) checkKept(flag string, n, bytesEach int64) error {
	if in.files == nil && n > maxKeptBytes/bytesEach {
		return fmt.Errorf(
			"%s %d: at most %s of a stream can be kept in memory: name an uncompressed file",
			flag,
			n,
			human.Bytes(maxKeptBytes),
		)
	}
	return nil
}

// checkSample returns an error if a sample of n records needs too much memory.
func (in *recordInputs) checkSample(n int64) error {
	const most = maxKeptBytes / positionBytes
	if in.files != nil && n > most {
		return fmt.Errorf(
			"--sample %d: at most %d records can be chosen: extsort shuffle --limit %[1]d chooses more", n, most,
		)
	}
	return in.checkKept("--sample", n, int64(in.recordSize())+2*positionBytes)
}

// selectedReader returns a reader of the records that the flags select.
func (in *recordInputs) selectedReader(
	ctx context.Context, f *textFlags,
) (recordReader, error) {
	switch {
	case f.head.isGiven():
		return in.reader(0, int64(f.head)), nil
	case f.span != nil:
		return in.reader(f.span.first, f.span.end), nil
	case f.tail.isGiven() && in.files != nil:
		return in.reader(max(in.records-int64(f.tail), 0), in.records), nil
	case f.tail.isGiven():
		if err := in.checkKept("--tail", int64(f.tail), int64(in.recordSize())); err != nil {
			return nil, err
		}
		return in.lastOf(ctx, int64(f.tail))
	case f.sample.isGiven() && in.files != nil && int64(f.sample) >= in.records:
		return in.reader(0, toEnd), nil
	case f.sample.isGiven():
		if err := in.checkSample(int64(f.sample)); err != nil {
			return nil, err
		}
		return in.sampleOf(ctx, int64(f.sample), f.seed)
	}
	return in.reader(0, toEnd), nil
}

// lastOf returns a reader of the last n records of a stream.
func (in *recordInputs) lastOf(
	ctx context.Context, n int64,
) (recordReader, error) {
	size := in.recordSize()
	keep := int(n) * size
	read := in.reader(0, toEnd)
	buf := make([]byte, max(printBlockBytes/size, 1)*size)
	var kept []byte // once it is full, a ring
	oldest := 0     // in bytes
	for ctx.Err() == nil {
		recs, err := read(buf)
		if err != nil {
			return nil, err
		}
		if len(recs) == 0 {
			return inTurn(readerOf(kept[oldest:], size), readerOf(kept[:oldest], size)), nil
		}
		room := min(keep-len(kept), len(recs))
		kept = append(kept, recs[:room]...)
		recs = recs[room:]
		for len(recs) > 0 && keep > 0 {
			n := copy(kept[oldest:], recs)
			oldest = (oldest + n) % keep
			recs = recs[n:]
		}
	}
	return nil, context.Cause(ctx)
}

// inTurn returns a reader of what one reader has, and then of what another has.
func inTurn(first, second recordReader) recordReader {
	return func(buf []byte) ([]byte, error) {
		recs, err := first(buf)
		if len(recs) > 0 || err != nil {
			return recs, err
		}
		return second(buf)
	}
}

// readerOf returns a reader of records in memory.
func readerOf(recs []byte, size int) recordReader {
	return func(buf []byte) ([]byte, error) {
		n := copy(buf[:len(buf)/size*size], recs)
		recs = recs[n:]
		return buf[:n], nil
	}
}

// sampleOf returns a reader of n records chosen at random. The choice depends only on the seed and
// on the number of records. It uses reservoir sampling (Vitter 1985, algorithm R): each record
// replaces one of the chosen records with a probability of n divided by the number of records so
// far.
func (in *recordInputs) sampleOf(
	ctx context.Context, n int64, seed uint64,
) (recordReader, error) {
	r := &reservoir{size: n, random: rand.New(rand.NewPCG(seed, 0))}
	if in.files != nil {
		return in.sampleOfFiles(ctx, r)
	}
	return in.sampleOfStream(ctx, r)
}

// A reservoir chooses up to size positions of a sequence whose length is not known.
type reservoir struct {
	size   int64
	random *rand.Rand
	chosen []int64 // positions
}

// choose offers the next position. It returns the index in chosen that it got, or -1.
func (r *reservoir) choose(position int64) (slot int64) {
	if position < r.size {
		r.chosen = append(r.chosen, position)
		return position
	}
	slot = r.random.Int64N(position + 1)
	if slot >= r.size {
		return -1
	}
	r.chosen[slot] = position
	return slot
}

// sampleOfFiles chooses positions first and then reads only their records.
func (in *recordInputs) sampleOfFiles(ctx context.Context, r *reservoir) (recordReader, error) {
	for position := range in.records {
		if position%(1<<20) == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r.choose(position)
	}
	slices.Sort(r.chosen)
	return in.positions(r.chosen), nil
}

// sampleOfStream reads all records and keeps the chosen ones in memory.
func (in *recordInputs) sampleOfStream(ctx context.Context, r *reservoir) (recordReader, error) {
	size := in.recordSize()
	read := in.reader(0, toEnd)
	buf := make([]byte, max(printBlockBytes/size, 1)*size)
	var kept []byte
	for position := int64(0); ctx.Err() == nil; {
		recs, err := read(buf)
		if err != nil {
			return nil, err
		}
		if len(recs) == 0 {
			return readerOf(sortedByPosition(kept, r.chosen, size), size), nil
		}
		for rec := range slices.Chunk(recs, size) {
			slot := r.choose(position)
			position++
			offset := slot * int64(size)
			switch {
			case slot < 0:
			case offset == int64(len(kept)):
				kept = append(kept, rec...)
			default:
				copy(kept[offset:], rec)
			}
		}
	}
	return nil, context.Cause(ctx)
}

// sortedByPosition returns records in the order of their positions.
func sortedByPosition(recs []byte, positions []int64, size int) []byte {
	order := make([]int, len(positions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Compare(positions[a], positions[b])
	})
	sorted := make([]byte, 0, len(recs))
	for _, i := range order {
		sorted = append(sorted, recs[i*size:][:size]...)
	}
	return sorted
}

// positions returns a reader of the records at some positions of files.
func (in *recordInputs) positions(chosen []int64) recordReader {
	size := in.recordSize()
	return func(buf []byte) ([]byte, error) {
		n := 0
		for len(chosen) > 0 && n+size <= len(buf) {
			if err := in.files.ReadRecords(buf[n:n+size], chosen[0]); err != nil {
				return nil, err
			}
			chosen = chosen[1:]
			n += size
		}
		return buf[:n], nil
	}
}
