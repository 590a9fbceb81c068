package spill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"github.com/extsort/extsort/format"
)

// An Origin describes the input records that a run contains, or, with a limit, the input records
// whose first ones (in sorted order) it contains.
type Origin struct {
	First, Records int64
	Sum            format.Checksum // checksum of these records, if requested
}

// An Identity distinguishes a sort from others. It consists of pairs of a name and a value.
type Identity [][2]string

// A manifest lists the data that a checkpoint has kept. Each update writes a new file, syncs it
// and renames it. So after a crash the manifest is either the old or the new one. A manifest
// looks like this:
//
//	extsort-checkpoint 4 XXH3 LENGTH\n   the version, and the checksum and the length of the JSON
//	{"identity":[…],"runs":[…],…}        content, as JSON
//
// A run may have many blocks, which never change. Therefore each run has its own index file,
// which is written once. The manifest contains the length and the checksum of each index file.
type manifest struct {
	folder string
	lock   *folderLock // nil if there is no checkpoint
	content
}

// content is the content of a manifest, which is stored as JSON.
type content struct {
	Identity keptIdentity `json:"identity,omitempty"`
	Runs     []*keptRun   `json:"runs,omitempty"`    // in the order of their origins
	Output   *KeptOutput  `json:"output,omitempty"`  // nil if none exists yet
	Written  *Written     `json:"written,omitempty"` // nil if nothing is written
	Complete string       `json:"complete,omitempty"`
	Appended bool         `json:"appended,omitempty"` // results are appended to the records of runs
}

// KeptOutput describes the file that the last merge writes to. It is in the directory of the
// output.
type KeptOutput struct {
	Name  RawName     `json:"name"`
	Inode uint64      `json:"inode,omitempty"` // 0 if the system has no inode numbers
	Mode  fs.FileMode `json:"mode"`
}

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

// A RawName is a file name, which may consist of any bytes. In JSON it is a string if it is valid
// UTF-8; otherwise it is an array of numbers.
type RawName string

// MarshalJSON implements json.Marshaler.
func (n RawName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	numbers := make([]int, len(n))
	for i := range len(n) {
		numbers[i] = int(n[i])
	}
	return json.Marshal(numbers)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *RawName) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, (*string)(n))
	}
	var numbers []int
	if err := json.Unmarshal(text, &numbers); err != nil {
		return err
	}
	raw := make([]byte, len(numbers))
	for i, number := range numbers {
		raw[i] = byte(number)
	}
	*n = RawName(raw)
	return nil
}

// A keptIdentity is an Identity whose strings may contain any bytes, because some of them are
// file names.
type keptIdentity [][2]RawName

func newKeptIdentity(id Identity) (kept keptIdentity) {
	for _, pair := range id {
		kept = append(kept, [2]RawName{RawName(pair[0]), RawName(pair[1])})
	}
	return kept
}

// Names or prefixes of the files in the directory of a checkpoint.
const (
	manifestName   = "manifest"
	newManifest    = "manifest-new" // until it is complete
	lockName       = "lock"
	removedLock    = "lock-removed" // while the directory is being removed
	spillPrefix    = "spill-"
	longIndexes    = spillPrefix + "index"
	runIndexPrefix = "run-"
)

// manifestVersion changes with the format of the manifest or of the files it lists.
const manifestVersion = 4

// manifestHeader is the format of the first line.
const manifestHeader = "extsort-checkpoint %d %s %d\n"

// open locks the directory and reads the manifest, if it exists. After an error the directory is
// not locked.
func (m *manifest) open(ctx context.Context, folder string, readOnly bool) error {
	lock, err := lockFolder(ctx, folder, readOnly)
	if err != nil {
		return err
	}
	m.folder = folder
	m.lock = lock
	if err = m.read(); err != nil {
		m.close()
		m.lock = nil
	}

	return err
}

func (m *manifest) close() error {
	if m.lock == nil {
		return nil
	}
	return m.lock.close()
}

// writable reports whether the manifest may be changed.
func (m *manifest) writable() bool {
	return m.lock != nil && !m.lock.shared
}

func (m *manifest) read() error {
	text, err := os.ReadFile(filepath.Join(m.folder, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if m.content, err = decodeManifest(text); err != nil {
		return err
	}
	for _, run := range m.Runs {
		if err := run.readBlocks(m.folder); err != nil {
			return err
		}
	}

	return nil
}

// decodeManifest decodes the result of encode.
func decodeManifest(text []byte) (c content, err error) {
	line, body, _ := bytes.Cut(text, []byte("\n"))
	var version, length int
	var sum string
	if _, err := fmt.Sscanf(
		string(line)+"\n", manifestHeader, &version, &sum, &length,
	); err != nil {
		return c, errAnew("its manifest is damaged, or of another version of extsort")
	}
	switch {
	case string(line)+"\n" != fmt.Sprintf(manifestHeader, version, sum, length):
		return c, errAnew("its manifest is damaged: its first line is malformed")
	case version != manifestVersion:
		return c, errAnew(
			"its manifest is damaged, or of another version of extsort: %d instead of %d",
			version, manifestVersion,
		)
	case len(body) != length:
		return c, errAnew("its manifest is damaged: it has %d of %d bytes", len(body), length)
	case checksum(body) != sum:
		return c, errAnew(
			"its manifest is damaged: its checksum is %s instead of %s", checksum(body), sum,
		)
	}

	if err = json.Unmarshal(body, &c); err == nil {
		err = c.check()
	}
	if err != nil {
		return content{}, errAnew("its manifest is damaged: %w", err)
	}
	return c, nil
}

// check returns an error for content that encode never writes and that would cause a panic later.
func (c *content) check() error {
	if slices.Contains(c.Runs, nil) {
		return errors.New("it has an empty run")
	}
	if c.Written == nil {
		return nil
	}
	records := int64(0)
	for _, s := range c.Written.Stretches {
		if len(s.Taken) != len(c.Written.Of) || s.Records < records {
			return errors.New("the list of output written so far is not in order")
		}
		records = s.Records
	}

	return nil
}

func (c *content) encode() ([]byte, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	header := fmt.Sprintf(manifestHeader, manifestVersion, checksum(body), len(body))
	return append([]byte(header), body...), nil
}

func checksum(text []byte) string {
	return fmt.Sprintf("%016x", xxh3.Hash(text))
}

// replace replaces the content of the manifest and makes it durable. After an error the manifest is
// unchanged.
func (m *manifest) replace(next content) error {
	text, err := next.encode()
	if err == nil {
		err = writeDurably(filepath.Join(m.folder, newManifest), text)
	}
	if err == nil {
		err = os.Rename(filepath.Join(m.folder, newManifest), filepath.Join(m.folder, manifestName))
	}
	if err == nil {
		err = SyncNames(m.folder)
	}
	if err == nil {
		m.content = next
	}
	return err
}

// writeDurably writes and syncs a file, but not its name. It also returns an error from closing
// the file.
func writeDurably(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// addRun adds a run to the manifest and removes the runs that it was merged from. REQUIRES: the
// files of the run are durable, and their names
func (m *manifest) addRun(run *keptRun) error {
	next := m.content
	var replaced []*keptRun
	next.Runs = nil

	for _, r := range m.Runs {
		if run.First <= r.First && r.First+r.Records <= run.First+run.Records {
			replaced = append(replaced, r)
		} else {
			next.Runs = append(next.Runs, r)
		}
	}

	next.Runs = append(next.Runs, run)
	slices.SortFunc(next.Runs, func(a, b *keptRun) int {
		return int(min(max(a.First-b.First, -1), 1))
	})
	if err := m.replace(next); err != nil {
		return err
	}
	for _, r := range replaced {
		if r.indexName() != run.indexName() {
			// if this fails, the end of the sort removes the file
			_ = os.Remove(filepath.Join(m.folder, r.indexName()))
		}
	}

	return nil
}

// forgetRuns removes everything from the manifest except the description of a complete output.
func (m *manifest) forgetRuns() error {
	return m.replace(content{Identity: m.Identity, Complete: m.Complete})
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
		return errAnew("its file %s is damaged: it is missing", r.indexName())
	case err != nil:
		return err
	case len(text) != r.Index.Bytes:
		return errAnew(
			"its file %s is damaged: it has %d bytes instead of %d", r.indexName(), len(text),
			r.Index.Bytes,
		)
	case checksum(text) != r.Index.Sum:
		return errAnew("its file %s is damaged: its checksum is %s instead of %s",
			r.indexName(), checksum(text), r.Index.Sum)
	}

	if err := json.Unmarshal(text, &r.Blocks); err != nil {
		return errAnew("its file %s is damaged: %w", r.indexName(), err)
	}
	return nil
}

// ends returns, for each spill file, the end of the last block of a run.
func (m *manifest) ends() (ends []int64) {
	for _, run := range m.Runs {
		for i := range run.Blocks {
			b := &run.Blocks[i]
			ends = endAt(ends, b.Volume, b.Offset+aligned(b.Bytes))
		}
		if run.Long != nil {
			for volume, end := range run.Long.Ends {
				ends = endAt(ends, volume, end)
			}
		}
	}

	return ends
}
