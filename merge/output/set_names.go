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
	"github.com/extsort/extsort/internal/fileerr"
	"github.com/extsort/extsort/internal/filelock"
	"github.com/extsort/extsort/internal/filename"
)

// SetSchema is the version of the Index format. It changes when a field is removed or changes its
// meaning.
const SetSchema = 1

// Index is the content of the index file of a set, which is JSON.
type Index struct {
	Schema  int          `json:"schema"`
	Records int64        `json:"records"`
	Files   []IndexEntry `json:"files"`
}

// IndexEntry describes one file of a set.
type IndexEntry struct {
	Name string `json:"name"` // in the directory of the index
	// the name, if it is not valid UTF-8 and JSON cannot represent it
	RawName  []byte `json:"name_base64,omitempty"`
	Records  int64  `json:"records"`
	Bytes    int64  `json:"bytes"`               // size of the file
	FirstKey string `json:"first_key,omitempty"` // normalized, in hex; "" if none exists
	First    string `json:"first,omitempty"`     // the first key in its type
}

// setNames holds the names of a set: STEM.000, STEM.001, … and STEM.index. The suffix of a
// compression format stays at the end.
type setNames struct {
	stem, suffix string
	digits       int
	// before lists the files of the existing set according to its index, or to the journal if its
	// naming was interrupted.
	before []string
	// unfinished lists the names of parts for which there are temporary files, which another process
	// is writing or has left.
	unfinished []string
}

// minDigits is the minimum number of digits in the number of a file.
const minDigits = 3

// newSetNames returns the names of a set of at most the given number of files. It returns an
// error if there are files with such names that do not belong to a set. If another process is
// naming its set, newSetNames waits for it, until ctx is cancelled.
func newSetNames(
	ctx context.Context, name string, codec format.Compression, most int64,
) (setNames, error) {
	n := setNames{stem: name, digits: max(len(strconv.FormatInt(most-1, 10)), minDigits)}
	if named, _ := format.ParseCompression("", name); codec != format.None && named == codec {
		n.suffix = filepath.Ext(name)
		n.stem = strings.TrimSuffix(name, n.suffix)
	}

	if _, base := filepath.Split(n.stem); base == "" {
		return n, fmt.Errorf("create output %s: %w", name, fileerr.WithPath("create", name, errDirectory))
	}
	unlock, err := n.lock(ctx, filelock.Shared)
	if err == nil {
		err = n.check()
		unlock()
	}

	if err != nil {
		return n, fmt.Errorf("create output %s: %w", name, fileerr.WithPath("create", name, err))
	}
	return n, nil
}

// check reads the names of the old set. It returns an error if there is a file that has the name
// of a part but belongs to no set.
//
// On a file system that cannot lock directories, another process may be naming its set at the
// same time. So the order matters: check first lists the directory, and then reads the journal and
// the index. A process writes its journal before it names a file. So each file in the list is also
// in the journal, or in the index if the process has finished in the meantime.
func (n *setNames) check() error {
	folder := n.folder()
	// if the directory cannot be listed, there is nothing to check
	entries, _ := os.ReadDir(folder + ".")
	if err := n.readBefore(); err != nil {
		return err
	}
	for _, entry := range entries {
		hidden, _, found := strings.Cut(entry.Name(), temporary)
		if name := strings.TrimPrefix(hidden, "."); found && n.isPart(name) {
			n.unfinished = append(n.unfinished, name)
		}
		if n.isPart(entry.Name()) && !slices.Contains(n.before, entry.Name()) {
			return fmt.Errorf("%s exists, but no index lists it: remove it, or name another output",
				folder+entry.Name())
		}
	}

	return nil
}

// CheckInput returns an error if a file is part of a set that is being named, or whose naming was
// interrupted. The files of such a set may be a mixture of the old and the new one.
func CheckInput(name string) error {
	n := setNames{stem: name}
	if codec, _ := format.ParseCompression("", name); codec != format.None {
		n.stem = strings.TrimSuffix(name, filepath.Ext(name))
	}
	n.stem = strings.TrimSuffix(n.stem, filepath.Ext(n.stem))
	base := filepath.Base(name)
	if !n.isPart(base) {
		return nil
	}
	// in this order: the journal is removed after the index gets its name
	if err := n.read(n.journalName()); err != nil || !slices.Contains(n.before, base) {
		return err
	}
	if _, err := os.Lstat(n.indexName()); err == nil {
		return nil
	}
	return fmt.Errorf("%s: a sort is replacing this set of files, or was interrupted while it did: "+
		"wait for it, or write the set again from other inputs", name)
}

// lock prevents other processes from naming the files of a set in this directory. It waits for a
// process that does so. If the file system cannot lock directories, it does nothing.
func (n *setNames) lock(ctx context.Context, kind filelock.Kind) (unlock func(), err error) {
	folder, err := os.Open(n.folder() + ".")
	if err != nil {
		// The directory may be writable but not readable. Other errors are reported when files
		// are created in it.
		return func() {}, nil
	}
	unlock = func() { folder.Close() }
	err = filelock.Lock(ctx, folder, kind, namingTimeout)
	switch {
	case err == nil:
		return unlock, nil
	case errors.Is(err, filelock.ErrBusy):
		unlock()
		return nil, errors.New(
			"another process renames the files of a set in this directory: wait for it, " +
				"then run this again",
		)
	case ctx.Err() != nil:
		unlock()
		return nil, err
	}

	return unlock, nil
}

// namingTimeout limits how long to wait for another process to name its files.
const namingTimeout = time.Minute

// newEntry returns the index entry for a file name.
func newEntry(name string) IndexEntry {
	return IndexEntry{Name: name, RawName: filename.Raw(name)}
}

// fileName returns the name of the file.
func (e *IndexEntry) fileName() string {
	return filename.Restore(e.Name, e.RawName)
}

// readBefore finds the files of an existing set, or of a set whose naming was interrupted. It
// reads the journal first, because the journal is removed after the index gets its name.
func (n *setNames) readBefore() error {
	n.before = nil
	if err := n.read(n.journalName()); err != nil {
		return err
	}
	return n.read(n.indexName())
}

// read adds the files listed in an index, if the index exists.
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
		return fmt.Errorf(
			"%s exists and is not an index of files: remove it, or name another output", name,
		)
	}
	for i := range index.Files {
		if file := index.Files[i].fileName(); n.isPart(file) && !slices.Contains(n.before, file) {
			n.before = append(n.before, file)
		}
	}

	return nil
}

// journalName returns the name of the journal. It exists while a set is being named, and lists the
// files of the old and the new set.
func (n *setNames) journalName() string { return n.hiddenName("naming") }

// oldIndexName returns the temporary name of the index of the old set.
func (n *setNames) oldIndexName() string { return n.hiddenName("old-index") }

// folder returns the directory of the set with a trailing slash, or "".
func (n *setNames) folder() string {
	folder, _ := filepath.Split(n.stem)
	return folder
}

func (n *setNames) hiddenName(what string) string {
	folder, base := filepath.Split(n.stem)
	return folder + "." + shortened(base) + temporary + what
}

func (n *setNames) indexName() string { return n.stem + ".index" }

func (n *setNames) fileName(i int) string {
	return fmt.Sprintf("%s.%0*d%s", n.stem, n.digits, i, n.suffix)
}

// isPart reports whether a file in the directory has the name of a part of the set, compressed or
// not.
func (n *setNames) isPart(name string) bool {
	number, found := strings.CutPrefix(name, filepath.Base(n.stem)+".")
	if codec, _ := format.ParseCompression("", name); codec != format.None {
		number = strings.TrimSuffix(number, filepath.Ext(name))
	}
	return found && len(number) >= minDigits && strings.Trim(number, "0123456789") == ""
}

// writeIndex writes the index, with one line per file. It does not name the index yet.
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

// appear names the files, and the index last: if the index exists, the set is complete. After an
// error, none of the files has its name, and the old set is unchanged; the error names the
// exceptions, which only a file system without links can cause.
func (s *set) appear(ctx context.Context) error {
	err := s.writeIndex(ctx)
	if err == nil {
		err = s.tempNames()
	}
	var unlock func()
	if err == nil {
		unlock, err = attempt(s.index.ops, "lock directory", func() (func(), error) {
			return s.names.lock(ctx, filelock.Exclusive)
		})
	}
	if err == nil {
		defer unlock() // after the names are durable
		err = context.Cause(ctx)
	}
	if err == nil { // from here on, cancelling has no effect
		err = s.nameAll()
	}

	if err != nil {
		return fmt.Errorf("finish output %s: %w", s.names.stem, err)
	}
	return s.settle(context.WithoutCancel(ctx))
}

// settle makes the names durable, removes the remains of the old set, and closes the files.
func (s *set) settle(ctx context.Context) error {
	failed := Await(ctx, s.syncFolder)
	for _, f := range s.files {
		_ = f.out.naming.dropOld() // the next output of this name removes it as well
	}
	if failed == nil {
		s.removeOld()
	}
	err := s.index.end(failed)
	for _, f := range s.files {
		err = errors.Join(err, f.out.end(nil))
	}
	return err
}

// tempNames gives the files temporary names. If the directory has no room for more names, the
// error occurs here.
func (s *set) tempNames() error {
	all := []*File{s.index}
	for _, f := range s.files {
		all = append(all, f.out)
	}
	for _, file := range all {
		if err := file.naming.linkTemp(file.file); err != nil {
			return err
		}
	}

	return nil
}

// nameAll renames the files while the directory is locked. If this process is killed, a journal
// shows the next process which files belong to the set. If several commands write the same set,
// the last one wins.
func (s *set) nameAll() error {
	if err := s.names.readBefore(); err != nil { // the set may have changed since the last call
		return err
	}
	if err := s.writeJournal(); err != nil {
		return errors.Join(err, removeIfThere(s.names.journalName()))
	}
	named, err := s.renameAll()
	if err == nil {
		return nil
	}

	var files []*File
	for _, f := range s.files[:named] {
		files = append(files, f.out)
	}
	if lost := takeBack(files); lost != nil {
		return errors.Join(err, lost) // the journal lists the files of both sets
	}
	if s.hidIndex {
		err = errors.Join(err, s.syncFolder(), os.Rename(s.names.oldIndexName(), s.names.indexName()))
	}
	if _, missing := os.Lstat(s.names.indexName()); missing != nil && len(s.names.before) > 0 {
		return err // only the journal lists these files
	}
	return errors.Join(err, removeIfThere(s.names.journalName()))
}

// removeOld removes the remains of the old set after the new one is durable. If a file cannot be
// removed, the journal stays, so that the next set of this name removes the file.
func (s *set) removeOld() {
	_ = os.Remove(s.names.oldIndexName())
	s.removeUnfinished()
	removed, err := s.removeStale()
	if err != nil {
		s.opt.warn(fmt.Sprintf("output %s is complete, but a file of the old one remains: %v", s.names.stem, err))
		return
	}
	if removed && s.syncFolder() != nil {
		return
	}
	// harmless if it stays, because it lists only files of this set
	_ = os.Remove(s.names.journalName())
}

// partNames returns the names of all files of the set.
func (s *set) partNames() map[string]bool {
	names := make(map[string]bool, len(s.files))
	for _, f := range s.files {
		names[filepath.Base(f.out.name)] = true
	}
	return names
}

// removeUnfinished removes the temporary files of killed processes that wrote more files. It ignores
// errors, because a leftover that stays does no harm.
func (s *set) removeUnfinished() {
	isNew := s.partNames() // each of these files has removed its leftovers
	for _, name := range s.names.unfinished {
		if isNew[name] {
			continue
		}
		if n, err := newNaming(s.index.ops, s.names.folder()+name, false, nil); err == nil {
			n.removeLeftovers()
			n.close()
		}
	}
}

// removeStale removes the files of the old set that are not part of the new one.
func (s *set) removeStale() (removed bool, err error) {
	isNew := s.partNames()
	for _, name := range s.names.before {
		if isNew[name] {
			continue
		}
		removed = true
		err = errors.Join(err, s.index.ops.perform("remove old part", func() error {
			return removeIfThere(filepath.Join(filepath.Dir(s.names.stem), name))
		}))
	}
	return removed, err
}

// writeJournal writes the journal and makes it durable.
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
	err = s.index.ops.perform("write journal", func() error {
		return replaceFile(s.names.journalName(), text)
	})
	if err != nil {
		return err
	}
	return s.syncFolder()
}

// replaceFile writes a private file. The file has either the new or the old content.
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

func (s *set) syncFolder() error { return s.index.naming.sync(s.index.file) }

// renameAll renames the files and returns how many of them have their names.
func (s *set) renameAll() (named int, err error) {
	if err = s.hideOldIndex(); err != nil {
		return 0, err
	}
	for _, f := range s.files {
		err = f.out.naming.keepOld()
		if err == nil {
			err = f.out.appear()
		}
		if err != nil {
			return named, errors.Join(err, f.out.naming.dropOld())
		}
		named++
	}

	if err = s.syncFolder(); err == nil {
		err = s.index.appear()
	}
	return named, err
}

// hideOldIndex renames the index of the old set and makes the change durable.
func (s *set) hideOldIndex() error {
	hide := func() error { return os.Rename(s.names.indexName(), s.names.oldIndexName()) }
	err := s.index.ops.perform("remove old index", hide)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.hidIndex = true
	return s.syncFolder()
}
