package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/textform"
	"github.com/extsort/extsort/internal/lookup"
	"github.com/extsort/extsort/internal/session"
)

// found is the result of some look-ups.
type found struct {
	ranges  []lookup.Range // not empty, in ascending order, without overlaps
	records []byte         // the records of all ranges; nil: they have not been read
	lines   []byte         // with --position or --missing
	keys    int64          // number of different keys
	missing int64          // number of keys without a record
}

// count returns the number of records.
func (r *found) count() (records int64) {
	for _, one := range r.ranges {
		records += one.Len()
	}
	return records
}

// add adds a range that does not begin before the previous one.
func (r *found) add(one lookup.Range) {
	switch last := len(r.ranges) - 1; {
	case one.Len() == 0:
	case last >= 0 && one.First <= r.ranges[last].End:
		r.ranges[last].End = max(r.ranges[last].End, one.End)
	default:
		r.ranges = append(r.ranges, one)
	}
}

// lookUps calls yield with the results of all look-ups, in the order of the file, until yield
// returns false.
func (f *finder) lookUps(ctx context.Context, yield func(*found) bool) error {
	var one *found
	var err error
	switch {
	case f.keys != "":
		return f.lookUpFile(ctx, yield)
	case len(f.operands) > 0:
		var wanted givenKeys
		if wanted, err = parseKeys(f.file.Keys, f.operands); err == nil {
			one, err = f.lookUpAll(ctx, wanted, len(wanted) > 1)
		}
	default:
		one, err = f.lookUpRange()
	}
	if err == nil {
		yield(one)
	}
	return err
}

// lookUpRange looks up the records that --prefix, --from and --to describe.
func (f *finder) lookUpRange() (*found, error) {
	keys := f.file.Keys
	if f.prefix != "" {
		prefix, err := keys.ParsePrefix(f.prefix)
		if err != nil {
			return nil, fmt.Errorf("--prefix: %w", err)
		}
		r, err := f.file.Find(prefix)
		return f.ofRange(r), err
	}
	var from, to []byte
	var err error
	if f.from != "" {
		if from, err = keys.Parse(f.from); err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
	}
	if f.to != "" {
		if to, err = keys.Parse(f.to); err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
	}
	if from != nil && to != nil && string(from) > string(to) {
		return nil, fmt.Errorf("--from %s comes after --to %s in the order of the file: exchange them",
			f.from, f.to)
	}
	r, err := f.file.Between(from, to)
	return f.ofRange(r), err
}

// ofRange returns a result with one range.
func (f *finder) ofRange(r lookup.Range) *found {
	result := &found{}
	result.add(r)
	if f.position && r.Len() > 0 {
		result.lines = fmt.Appendf(nil, "%d:%d\n", r.First, r.End)
	}
	return result
}

const (
	blockKeys     = 4096      // keys that one worker looks up at a time
	maxFoundBytes = 256 << 10 // maximum bytes of records that are read with the look-ups
)

// lookUpFile sorts the keys of a file, and looks up blocks of them in parallel.
func (f *finder) lookUpFile(ctx context.Context, yield func(*found) bool) error {
	shape := &keyShape{normalized: f.file.Keys.Size()}
	if f.position || f.missing {
		shape.packed = f.file.Keys.PackedSize()
	}
	encoder := f.file.Keys.Encoder(textform.CSV)
	stream := f.openKeys(ctx, shape)
	opt := session.Options{
		Record: format.Spec{
			RecordSize: shape.size(),
			Keys:       []string{fmt.Sprintf("0:bytes%d", shape.normalized)},
		},
		Sources:       []session.Source{{Name: f.keys, Reader: stream}},
		Raw:           true,
		Decompress:    "none",
		Unique:        true,
		Devices:       []string{"cpu"},
		MemoryBytes:   f.flags.opt.MemoryBytes,
		TempDirs:      f.flags.opt.TempDirs,
		Workers:       f.flags.opt.Workers,
		MeasureMemory: f.flags.report.stats != "",
		Warn:          f.warn,
	}
	const memory = 2 * maxFoundBytes // a window, the results and their records
	report, err := session.SortBlocks(ctx, opt, session.BlockWork[*found]{
		RecordSize: shape.size(),
		BlockBytes: blockKeys * shape.size(),
		Memory:     int64(memory + blockKeys*shape.size()),
		Work: func(recs []byte) (*found, error) {
			return f.lookUpAll(ctx, keyRecords{recs, shape, encoder}, true)
		},
		Yield: yield,
	})
	f.sorted = report
	return cmp.Or(stream.end(), err)
}

// lookUpAll looks up keys. With named, lines with positions name the keys.
func (f *finder) lookUpAll(ctx context.Context, wanted keyList, named bool) (*found, error) {
	const manyKeys = 1000
	cursor := f.file.NewCursor(wanted.len() > manyKeys)
	result := &found{keys: int64(wanted.len())}
	for i := range wanted.len() {
		const perCheck = 1024 // look-ups per check of the context
		if i%perCheck == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		r, err := cursor.Find(wanted.key(i))
		if err != nil {
			return nil, err
		}
		result.add(r)
		switch {
		case r.Len() == 0:
			result.missing++
			if f.missing {
				result.lines = wanted.appendLine(result.lines, i)
			}
		case f.position && named:
			result.lines = fmt.Appendf(result.lines, "%d:%d\t", r.First, r.End)
			result.lines = wanted.appendLine(result.lines, i)
		case f.position:
			result.lines = fmt.Appendf(result.lines, "%d:%d\n", r.First, r.End)
		}
	}
	if f.writesRecords() {
		return result, f.readFound(result)
	}
	return result, nil
}

// readFound reads the records of a result, unless they are many.
func (f *finder) readFound(result *found) error {
	size := int64(f.file.Header.Layout().RecordSize)
	total := result.count() * size
	if total == 0 || total > maxFoundBytes {
		return nil
	}
	result.records = make([]byte, total)
	rest := result.records
	for _, r := range result.ranges {
		if err := f.file.Read(rest[:r.Len()*size], r.First); err != nil {
			return err
		}
		rest = rest[r.Len()*size:]
	}
	return nil
}
