package spill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A keptRun is a run whose index is in a file of its own or in the file of long indexes.
type keptRun struct {
	Origin
	Index  indexFile
	Blocks []Block `json:"-"` // stored in the index file
	// Long replaces Blocks if the index is long; otherwise it is nil.
	Long *keptIndex `json:",omitempty"`
}

// A keptIndex describes a long index, which is in the shared file of long indexes, and the totals
// of its run.
type keptIndex struct {
	Regions []int64 // offsets; see index
	Entries int
	End     int64 // end of the regions in the file

	Records int64
	Largest int   // number of records in the largest block
	Stored  int64 // size of the blocks in the spill files in bytes
	// Ends holds, for each spill file, the end of the last block.
	Ends []int64
}

// newKeptRun returns the description of a run for a manifest. REQUIRES: its index is entirely in
// memory or entirely in a file
func newKeptRun(run *Run) *keptRun {
	kept := &keptRun{Origin: run.Origin}
	if len(run.indexes) == 0 {
		return kept
	}
	x := run.indexes[0]
	if x.stored == 0 {
		kept.Blocks = x.tail
		return kept
	}

	last := len(x.regions) - 1
	kept.Long = &keptIndex{
		Regions: x.regions,
		Entries: x.stored,
		End:     x.regions[last] + x.in.regionBytes(firstRegion<<last),
		Records: run.records,
		Largest: run.largest,
		Stored:  run.stored,
		Ends:    run.ends,
	}
	return kept
}

// keptRun returns a run of a checkpoint.
func (s *Spill) keptRun(kept *keptRun) *Run {
	run := s.newRun(kept.Origin)
	x := &index{in: &s.index, tail: kept.Blocks}
	run.indexes = []*index{x}

	if k := kept.Long; k != nil {
		x.regions = k.Regions
		x.stored = k.Entries
		run.largest = k.Largest
		run.stored = k.Stored
		run.ends = k.Ends
		run.add(indexPiece{entries: x, n: k.Entries}, k.Records)
		return run
	}

	s.index.noteHeld(len(kept.Blocks))
	for i := range kept.Blocks {
		run.addToTotals(&kept.Blocks[i])
	}
	records := run.records
	run.records = 0
	run.add(indexPiece{entries: x, n: len(kept.Blocks)}, records)
	return run
}

// storedBytes returns the size of the blocks in the spill files.
func (r *keptRun) storedBytes() (bytes int64) {
	if r.Long != nil {
		return r.Long.Stored
	}
	for i := range r.Blocks {
		bytes += aligned(r.Blocks[i].Bytes)
	}
	return bytes
}

// An indexFile describes the file with the blocks of a run.
type indexFile struct {
	Bytes int
	Sum   string // XXH3 in hexadecimal
}

// indexName returns the name of the file with the blocks of the run. It depends on the blocks, so
// that a file listed in the manifest is never overwritten.
func (r *keptRun) indexName() string {
	return fmt.Sprintf("%s%d-%s", runIndexPrefix, r.First, r.Index.Sum)
}

// writeBlocks writes the index file. Its name is not durable yet.
func (r *keptRun) writeBlocks(folder string) error {
	if r.Long != nil {
		return nil
	}
	text, err := json.Marshal(r.Blocks)
	if err != nil {
		return err
	}
	r.Index = indexFile{Bytes: len(text), Sum: checksum(text)}
	return writeDurably(filepath.Join(folder, r.indexName()), text)
}

func (r *keptRun) readBlocks(folder string) error {
	if r.Long != nil {
		return nil // each entry is verified when it is read
	}
	text, err := os.ReadFile(filepath.Join(folder, r.indexName()))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errUnusable("its file %s is damaged: it is missing", r.indexName())
	case err != nil:
		return err
	case len(text) != r.Index.Bytes:
		return errUnusable(
			"its file %s is damaged: it has %d bytes instead of %d", r.indexName(), len(text),
			r.Index.Bytes,
		)
	case checksum(text) != r.Index.Sum:
		return errUnusable("its file %s is damaged: its checksum is %s instead of %s",
			r.indexName(), checksum(text), r.Index.Sum)
	}

	if err := json.Unmarshal(text, &r.Blocks); err != nil {
		return errUnusable("its file %s is damaged: %w", r.indexName(), err)
	}
	return nil
}
