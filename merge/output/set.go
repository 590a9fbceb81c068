package output

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/dustin/go-humanize"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/human"
	"github.com/extsort/extsort/internal/safely"
	"github.com/extsort/extsort/internal/turns"
)

// Split says how an output is divided into the files of a set. The zero Split means a single
// file.
type Split struct {
	Files int // number of files, with about the same number of records each
	// size of each file before compression; a file may exceed it to keep equal keys together
	Bytes int64
}

// A set is an output of several files and an index of their first keys. A file ends when it has
// its share of the records and the key changes, so every key is in exactly one file. Blocks are
// divided in order and then written concurrently at their positions. Compressed files are written
// in order, one after another.
type set struct {
	split Split
	opt   Options
	names setNames
	fault func(operation string) error

	index    *File
	hidIndex bool // the index of the old set has been renamed

	turns  turns.Queue // the call whose turn it is may access the fields below
	files  []*setFile
	begun  int    // number of files that have begun to receive records; the last one is current
	placed int64  // number of records assigned to files
	last   []byte // the last record assigned to a file
}

// A setFile is one file of a set.
type setFile struct {
	*Sink
	out     *File
	first   int64 // index of its first record within the set
	records int64
	// normalized key of its first record; nil if the file is empty or records have no key
	key    []byte
	writes sync.WaitGroup
	done   bool // the file is durable but has no name yet
}

// NewSet returns a sink that writes a set of files, which are named after an output. Either all
// of them appear or none. After an error nothing is left of them.
func NewSet(
	ctx context.Context, name string, fault func(operation string) error, split Split,
	opt Options,
) (*Sink, error) {
	s := &set{split: split, opt: opt, fault: fault}
	sink := &Sink{
		BlockWriter: s,
		Kind:        KindOrdered,
		Abort:       s.abort,
		commit:      s.commit,
		Files:       s.count,
	}
	if opt.Compression != format.None && !opt.fixedHeader() {
		return nil, fmt.Errorf(
			"create output %s: this format needs the record count first, so its parts "+
				"cannot be compressed: compress them afterwards",
			name,
		)
	}
	err := s.checkCount(name, s.maxFiles())
	if err == nil {
		s.names, err = newSetNames(ctx, name, opt.Compression, s.maxFiles())
	}
	if err == nil {
		err = s.open(ctx)
	}
	if err == nil && split.Files > 0 && opt.Records < 0 {
		err = sink.wait(opt.Keep, opt.Writers, func(records int64) error {
			s.opt.Records = records
			return nil
		})
	}
	if err != nil {
		return nil, errors.Join(err, s.abort())
	}
	return sink, nil
}

// maxFiles returns the maximum number of files, or 0 if it is not known.
func (s *set) maxFiles() int64 {
	switch {
	case s.split.Files > 0:
		return int64(s.split.Files)
	case s.opt.Records < 0:
		return 0
	}
	return max((s.opt.Records+s.recordsPerFile()-1)/s.recordsPerFile(), 1)
}

// MaxSetFiles is the maximum number of files of a set. All files stay open until they get their
// names.
const MaxSetFiles = 10_000

func (s *set) checkCount(name string, count int64) error {
	if count > MaxSetFiles {
		return fmt.Errorf("create output %s: with files of %s, there would be more than %s: use a larger size",
			name, human.Bytes(s.split.Bytes), humanize.Comma(MaxSetFiles))
	}
	return nil
}

// recordsPerFile returns how many records fit into Split.Bytes.
func (s *set) recordsPerFile() int64 {
	return max((s.split.Bytes-int64(len(s.opt.header(0))))/int64(s.opt.RecordSize), 1)
}

// open opens all files, to reserve space for them. If the number or the sizes of the files are
// not known, it opens only the first one. It never opens more than one compressed file, because
// compressors need memory.
func (s *set) open(ctx context.Context) (err error) {
	if s.index, err = s.openFile(ctx, s.names.indexName(), FileOptions{}); err != nil {
		return err
	}
	count := s.maxFiles()
	if s.opt.Records < 0 || s.opt.Compression != format.None {
		count = 1
	}
	for range count {
		if err := s.openNext(ctx); err != nil {
			return err
		}
	}

	s.begun = 1
	return nil
}

// openNext opens the next file of the set.
func (s *set) openNext(ctx context.Context) error {
	i := len(s.files)
	if err := s.checkCount(s.names.stem, int64(i+1)); err != nil {
		return err
	}
	opt := s.opt
	opt.Records = s.recordsOf(int64(i))
	out, err := s.openFile(ctx, s.names.fileName(i), opt.File(FileOptions{}))
	if err != nil {
		return err
	}
	if !out.access.explicit {
		out.access = s.index.access
	}
	sink, err := NewSink(ctx, out, opt)
	if err == nil {
		s.files = append(s.files, &setFile{Sink: sink, out: out})
	}
	return err
}

// recordsOf returns the expected number of records of file i, or -1 if it is not known.
func (s *set) recordsOf(i int64) int64 {
	all := s.opt.Records
	files := int64(s.split.Files)
	switch {
	case all < 0 || s.opt.Compression != format.None:
		return -1
	case files > 0:
		return all*(i+1)/files - all*i/files
	default:
		return min(s.recordsPerFile(), max(all-i*s.recordsPerFile(), 0))
	}
}

// openFile begins a file to which the set gives its name.
func (s *set) openFile(ctx context.Context, name string, opt FileOptions) (*File, error) {
	opt.Fault = s.fault
	out, err := Open(ctx, name, opt)
	if err != nil {
		return nil, err
	}
	file, ok := out.(*File)
	if !ok {
		return nil, errors.Join(createError(name, errors.New("it is not a regular file")), out.Abort())
	}
	file.inSet = true
	return file, nil
}

// A part consists of the records of a block that go to the same file.
type part struct {
	to    *setFile
	first int64
	recs  []byte
}

// WriteBlock assigns records to files, after all earlier records have been assigned, and writes
// them.
func (s *set) WriteBlock(ctx context.Context, first int64, recs []byte) error {
	if err := s.turns.Wait(ctx, first); err != nil {
		return err
	}
	parts, err := s.assignToFiles(ctx, recs)
	s.turns.Pass(first+int64(len(recs)/s.opt.RecordSize), err)
	return errors.Join(err, writeParts(ctx, parts))
}

// writeParts writes the parts. It stops writing after the first error.
func writeParts(ctx context.Context, parts []part) (err error) {
	for _, p := range parts {
		if err == nil {
			err = p.to.WriteBlock(ctx, p.first, p.recs)
		}
		p.to.writes.Done()
	}
	return err
}

// assignToFiles divides records into parts and begins the files they need.
func (s *set) assignToFiles(ctx context.Context, recs []byte) (parts []part, err error) {
	size := s.opt.RecordSize
	for len(recs) > 0 {
		to := s.files[s.begun-1]
		if n := s.recordsFor(to, recs); n > 0 {
			if to.records == 0 && s.opt.Keyer != nil {
				to.key = s.opt.Keyer.Append(nil, recs[:size])
			}
			to.writes.Add(1)
			parts = append(parts, part{to, to.records, recs[:n*size]})
			to.records += int64(n)
			s.placed += int64(n)
			s.last = append(s.last[:0], recs[(n-1)*size:n*size]...)
			recs = recs[n*size:]
		}

		if len(recs) == 0 {
			break
		}
		if s.opt.Compression != format.None {
			err = writeParts(ctx, parts)
			parts = nil
			if err = errors.Join(err, to.finish(ctx)); err != nil {
				return nil, err
			}
		}

		if err := s.beginNext(ctx); err != nil {
			return parts, err
		}
	}

	return parts, nil
}

// beginNext makes the next file the current one.
func (s *set) beginNext(ctx context.Context) error {
	if len(s.files) == s.begun {
		if err := s.openNext(ctx); err != nil {
			return err
		}
	}
	s.files[s.begun].first = s.placed
	s.begun++
	return nil
}

// recordsFor returns how many of the records at the start of recs belong to the current file.
func (s *set) recordsFor(to *setFile, recs []byte) int {
	size := s.opt.RecordSize
	missing := s.targetRecords(to) - to.records
	all := len(recs) / size
	if missing >= int64(all) {
		return all
	}
	if s.opt.Keyer == nil {
		return int(missing)
	}
	from := int(max(missing, 0))
	before := s.last
	if from > 0 {
		before = recs[(from-1)*size : from*size]
	}
	return from + sort.Search(all-from, func(i int) bool {
		return s.opt.Keyer.Compare(before, recs[(from+i)*size:(from+i+1)*size]) != 0
	})
}

// targetRecords returns how many records the current file receives before it ends at the next
// change of the key. With Split.Files, this is an equal part of the remaining records.
func (s *set) targetRecords(to *setFile) int64 {
	if s.split.Bytes > 0 {
		return s.recordsPerFile()
	}
	files := int64(s.split.Files - s.begun + 1)
	return max((s.opt.Records-to.first+files-1)/files, 1)
}

// finish makes a file durable after all writes. The file gets its name later.
func (f *setFile) finish(ctx context.Context) error {
	f.writes.Wait()
	f.done = true
	return f.Sink.Commit(ctx, f.records)
}

// count returns the number of files after all records have been written.
func (s *set) count() int { return max(s.begun, s.split.Files) }

// commit makes all files durable and names them.
func (s *set) commit(ctx context.Context, records int64) error {
	if err := s.turns.Finish(records); err != nil {
		return err
	}
	var finishing safely.Group
	finishing.SetLimit(max(s.opt.Writers, 1))
	if s.opt.Compression != format.None {
		finishing.SetLimit(1)
	}
	count := s.count()
	var err error
	for i := 0; i < count && err == nil; i++ {
		if i == len(s.files) {
			err = s.openNext(ctx)
		}
		if err == nil && !s.files[i].done {
			file := s.files[i]
			finishing.Go(func() error { return file.finish(ctx) })
		}
	}

	err = errors.Join(err, finishing.Wait())
	for len(s.files) > count { // open opened more files than were needed
		spare := s.files[len(s.files)-1]
		s.files, err = s.files[:len(s.files)-1], errors.Join(err, spare.Abort())
	}

	if err != nil {
		return err
	}
	return s.appear(ctx)
}

// abort removes all files that have no names yet.
func (s *set) abort() (err error) {
	if s.index != nil {
		err = s.index.Abort()
	}
	for _, f := range slices.Backward(s.files) {
		if f.done {
			err = errors.Join(err, f.out.Abort())
		} else {
			err = errors.Join(err, f.Abort())
		}
	}

	return err
}
