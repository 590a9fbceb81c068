package output

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filelock"
	"github.com/extsort/extsort/internal/filename"
)

// SetSchema is the number of the form of an Index. It changes when a name goes or changes its meaning.
const SetSchema = 1

// Index is what the index of a set tells, as JSON.
type Index struct {
	Schema  int          `json:"schema"`
	Records int64        `json:"records"`
	Files   []IndexEntry `json:"files"`
}

// IndexEntry is one file of a set.
type IndexEntry struct {
	Name     string `json:"name"`                  // in the folder of the index
	RawName  []byte `json:"name_base64,omitempty"` // the same, where it is not UTF-8, which JSON cannot have
	Records  int64  `json:"records"`
	Bytes    int64  `json:"bytes"`               // of the file
	FirstKey string `json:"first_key,omitempty"` // normalized, in hex; "": there is none, or no key
	First    string `json:"first,omitempty"`     // the same in its type
}

// setNames are the names of a set: STEM.000, STEM.001 … and STEM.index. The suffix of a compression stays at the end.
type setNames struct {
	stem, suffix string
	digits       int
	before       []string // files of a set that stands there, as its index says, or that was being named
}

// minDigits is how many digits the number of a file has at least.
const minDigits = 3

// newSetNames makes the names of a set of so many files at most, and refuses to write over or beside files that are so
// named and are of no set. If another process is naming its set, it waits until that is done, or ctx is.
func newSetNames(ctx context.Context, name string, codec format.Compression, most int64) (setNames, error) {
	n := setNames{stem: name, digits: max(len(strconv.FormatInt(most-1, 10)), minDigits)}
	if named, _ := format.ParseCompression("", name); codec != format.None && named == codec {
		n.suffix = filepath.Ext(name)
		n.stem = strings.TrimSuffix(name, n.suffix)
	}
	if _, base := filepath.Split(n.stem); base == "" {
		return n, fmt.Errorf("create output %s: it is a directory", name)
	}
	unlock, err := n.lock(ctx, filelock.Shared)
	if err == nil {
		err = n.check()
		unlock()
	}
	if err != nil {
		return n, fmt.Errorf("create output %s: %w", name, err)
	}
	return n, nil
}

// check reads the names of the old set, and returns an error for a file with the name of a part that is of no set.
//
// Where directories cannot be locked, another process may be naming its set meanwhile. So check lists the directory
// before it reads which files are of a set: a file that has its name by then is in the journal or in the index.
func (n *setNames) check() error {
	folder := n.folder()
	entries, _ := os.ReadDir(folder + ".") // what cannot be listed, nobody takes for a part of the set
	if err := n.readBefore(); err != nil {
		return err
	}
	for _, entry := range entries {
		if n.has(entry.Name()) && !slices.Contains(n.before, entry.Name()) {
			return fmt.Errorf("%s exists, but no index lists it: remove it, or name another output",
				folder+entry.Name())
		}
	}
	return nil
}

// lock keeps other processes from naming the files of a set in the directory. It waits for one that does so. Where the
// file system locks no directories, it does nothing.
func (n *setNames) lock(ctx context.Context, kind filelock.Kind) (unlock func(), err error) {
	folder, err := os.Open(n.folder() + ".")
	if err != nil {
		return func() {}, nil // the directory may be written but not read, or it is reported when files are made there
	}
	unlock = func() { folder.Close() }
	err = filelock.Wait(ctx, folder, kind, namingTimeout)
	switch {
	case err == nil:
		return unlock, nil
	case errors.Is(err, filelock.ErrBusy):
		unlock()
		return nil, errors.New("another process renames the files of a set in this directory: wait for it, " +
			"then run this again")
	case ctx.Err() != nil:
		unlock()
		return nil, err
	}
	return unlock, nil
}

// namingTimeout is how long other processes may take to name their files.
const namingTimeout = time.Minute

// newEntry is the entry of a file.
func newEntry(name string) IndexEntry {
	return IndexEntry{Name: name, RawName: filename.Raw(name)}
}

// file is the name of the file.
func (e *IndexEntry) file() string {
	return filename.Restore(e.Name, e.RawName)
}

// readBefore finds the files of an existing set, or of one whose naming was interrupted. The journal is removed after
// the index got its name, so it is read first.
func (n *setNames) readBefore() error {
	n.before = nil
	if err := n.read(n.journal()); err != nil {
		return err
	}
	return n.read(n.index())
}

// read adds the files that an index lists, if there is one of that name.
func (n *setNames) read(name string) error {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, advise(err))
	}
	var index Index
	err = json.Unmarshal(text, &index)
	if err != nil || index.Schema != SetSchema {
		return fmt.Errorf("%s exists and is not an index of files: remove it, or name another output", name)
	}
	for i := range index.Files {
		if file := index.Files[i].file(); n.has(file) && !slices.Contains(n.before, file) {
			n.before = append(n.before, file)
		}
	}
	return nil
}

// journal is the name of a file that is there while the set is named. It lists the files of the old and of the new one.
func (n *setNames) journal() string { return n.hidden("naming") }

// oldIndex is the name of the index of the old set meanwhile.
func (n *setNames) oldIndex() string { return n.hidden("old-index") }

// folder is the directory of the set with a slash behind it, or "".
func (n *setNames) folder() string {
	folder, _ := filepath.Split(n.stem)
	return folder
}

func (n *setNames) hidden(what string) string {
	folder, base := filepath.Split(n.stem)
	return folder + "." + shortened(base) + ".extsort-" + what
}

func (n *setNames) index() string { return n.stem + ".index" }

func (n *setNames) file(i int) string { return fmt.Sprintf("%s.%0*d%s", n.stem, n.digits, i, n.suffix) }

// has reports whether a file of the folder has a name of the set, compressed or not.
func (n *setNames) has(name string) bool {
	number, found := strings.CutPrefix(name, filepath.Base(n.stem)+".")
	if codec, _ := format.ParseCompression("", name); codec != format.None {
		number = strings.TrimSuffix(number, filepath.Ext(name))
	}
	return found && len(number) >= minDigits && strings.Trim(number, "0123456789") == ""
}

// writeIndex writes the index, which has no name yet. Each file has a line.
func (s *set) writeIndex(ctx context.Context) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"schema":%d,"records":%d,"files":[`, SetSchema, s.placed)
	for i, f := range s.files {
		entry := newEntry(filepath.Base(f.out.name))
		entry.Records, entry.Bytes = f.records, f.out.size.Load()
		if f.key != nil {
			entry.FirstKey, entry.First = hex.EncodeToString(f.key), s.opt.Keyer.Layout().KeyText(f.key)
		}
		line, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		text.WriteString([]string{"\n", ",\n"}[min(i, 1)])
		text.Write(line)
	}
	text.WriteString("\n]}\n")
	if _, err := s.index.Write(text.Bytes()); err != nil {
		return err
	}
	return s.index.Commit(ctx, -1)
}

// appear names the files, and at last the index: where that stands, the set is whole. After an error none of them has
// its name. The old set is as it was, unless one of its files was replaced by then.
func (s *set) appear(ctx context.Context) error {
	err := s.writeIndex(ctx)
	if err == nil && ctx.Err() != nil { // from here on the set is not given up
		err = context.Cause(ctx)
	}
	if err == nil {
		err = s.tempNames()
	}
	var unlock func()
	if err == nil {
		unlock, err = attempt(s.index, "lock directory", func() (func(), error) {
			return s.names.lock(ctx, filelock.Exclusive)
		})
	}
	if err == nil {
		defer unlock() // when the names are durable
		err = s.nameAll()
	}
	if err != nil {
		return fmt.Errorf("finish output %s: %w", s.names.stem, err)
	}
	for _, f := range s.files {
		err = errors.Join(err, settle(ctx, f.out))
	}
	return errors.Join(err, settle(ctx, s.index))
}

// tempNames gives the files temporary names. What can fail for lack of room in the folder does so here.
func (s *set) tempNames() error {
	all := []*Output{s.index}
	for _, f := range s.files {
		all = append(all, f.out)
	}
	for _, o := range all {
		if o.temp != "" {
			continue
		}
		give := func(name string) error { return link(o.file, o.folder, name) }
		if err := o.nameTemp("link output", give); err != nil {
			return err
		}
	}
	return nil
}

// nameAll renames the files, while the directory is locked. A journal tells the next run which ones they are, should
// this one be killed meanwhile. Of several commands that write the same set, the last one's is there, whole.
func (s *set) nameAll() error {
	if err := s.names.readBefore(); err != nil { // it may be another one by now
		return err
	}
	if err := s.writeJournal(); err != nil {
		return errors.Join(err, removeIfThere(s.names.journal()))
	}
	named, err := s.renameAll()
	if err == nil {
		_ = os.Remove(s.names.oldIndex())
		_ = os.Remove(s.names.journal()) // which lists files of this set only, should it stay
		return nil
	}
	for _, f := range s.files[:named] {
		err = errors.Join(err, f.out.root.Remove(f.out.base))
	}
	if named > 0 && len(s.names.before) > 0 {
		return err // the journal says which files are left
	}
	if s.hidIndex {
		err = errors.Join(err, os.Rename(s.names.oldIndex(), s.names.index()))
	}
	return errors.Join(err, removeIfThere(s.names.journal()))
}

// writeJournal makes the journal, durably.
func (s *set) writeJournal() error {
	journal := Index{Schema: SetSchema}
	for _, name := range s.names.before {
		journal.Files = append(journal.Files, newEntry(name))
	}
	for _, f := range s.files {
		journal.Files = append(journal.Files, newEntry(filepath.Base(f.out.name)))
	}
	text, err := json.Marshal(journal)
	if err != nil {
		return err
	}
	err = s.index.do("write journal", func() error { return replaceFile(s.names.journal(), text) })
	if err != nil {
		return err
	}
	return s.syncFolder()
}

// replaceFile makes a file of this user, which is whole or as before.
func replaceFile(name string, text []byte) error {
	temp := name + "-new"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

func removeIfThere(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (s *set) syncFolder() error { return syncNames(s.index)() }

// renameAll does so as far as it can, and says how many files have their names.
func (s *set) renameAll() (named int, err error) {
	if err = s.hideOldIndex(); err != nil {
		return 0, err
	}
	stale := slices.Clone(s.names.before)
	for _, f := range s.files {
		if err = appear(f.out); err != nil {
			return named, err
		}
		named++
		stale = slices.DeleteFunc(stale, func(name string) bool { return name == filepath.Base(f.out.name) })
	}
	for _, name := range stale {
		if err = removeIfThere(filepath.Join(filepath.Dir(s.names.stem), name)); err != nil {
			return named, err
		}
	}
	if err = s.syncFolder(); err == nil {
		err = appear(s.index)
	}
	return named, err
}

// hideOldIndex takes the index of the old set away, durably.
func (s *set) hideOldIndex() error {
	hide := func() error { return os.Rename(s.names.index(), s.names.oldIndex()) }
	err := s.index.do("remove old index", hide)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.hidIndex = true
	return s.syncFolder()
}
