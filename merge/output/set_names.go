package output

import (
	"bytes"
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

	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
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
	Name     string `json:"name"` // in the folder of the index
	Records  int64  `json:"records"`
	Bytes    int64  `json:"bytes"`               // of the file
	FirstKey string `json:"first_key,omitempty"` // normalized, in hex; "": there is none, or no key
	First    string `json:"first,omitempty"`     // the same in its type
}

// setNames are the names of a set: STEM.000, STEM.001 … and STEM.index. The suffix of a compression stays at the end.
type setNames struct {
	stem, suffix string
	digits       int
	before       []string // files of a set that stands there, as its index says
}

// minDigits is how many digits the number of a file has at least.
const minDigits = 3

// newSetNames makes the names of a set of so many files at most, and refuses to write over or beside files that are so
// named and are of no set.
func newSetNames(name string, codec format.Compression, most int64) (setNames, error) {
	n := setNames{stem: name, digits: max(len(strconv.FormatInt(most-1, 10)), minDigits)}
	if named, _ := format.ParseCompression("", name); codec != format.None && named == codec {
		n.suffix = filepath.Ext(name)
		n.stem = strings.TrimSuffix(name, n.suffix)
	}
	folder, base := filepath.Split(n.stem)
	if base == "" {
		return n, fmt.Errorf("create output %s: it is a folder", name)
	}
	if err := n.readBefore(); err != nil {
		return n, fmt.Errorf("create output %s: %s stands there and is no index of files: "+
			"remove it, or name another output", name, n.index())
	}
	entries, _ := os.ReadDir(folder + ".") // what cannot be listed, nobody takes for a part of the set
	for _, entry := range entries {
		if n.has(entry.Name()) && !slices.Contains(n.before, entry.Name()) {
			return n, fmt.Errorf("create output %s: %s stands there, and no index lists it: "+
				"remove it, or name another output", name, folder+entry.Name())
		}
	}
	return n, nil
}

// readBefore reads the index that stands there, if one does.
func (n *setNames) readBefore() error {
	text, err := os.ReadFile(n.index())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var index Index
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if err == nil && index.Schema != SetSchema {
		err = errors.ErrUnsupported
	}
	for _, entry := range index.Files {
		if n.has(entry.Name) {
			n.before = append(n.before, entry.Name)
		}
	}
	return err
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
func (s *set) writeIndex() error {
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"schema":%d,"records":%d,"files":[`, SetSchema, s.placed)
	for i, f := range s.files {
		entry := IndexEntry{Name: filepath.Base(f.out.name), Records: f.records, Bytes: f.out.size.Load()}
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
	return s.index.Commit(-1)
}

// appear names the files, and at last the index: where that stands, the set is whole. After an error none of them has
// its name; what they had replaced by then is lost.
func (s *set) appear() error {
	err := s.writeIndex()
	named := 0
	if err == nil {
		named, err = s.nameAll()
	}
	if err != nil {
		for _, f := range s.files[:named] {
			err = errors.Join(err, f.out.root.Remove(f.out.base))
		}
		return fmt.Errorf("finish output %s: %w", s.names.stem, err)
	}
	for _, f := range s.files {
		err = errors.Join(err, settle(f.out))
	}
	return errors.Join(err, settle(s.index))
}

// nameAll does so as far as it can, and says how many files have their names.
func (s *set) nameAll() (named int, err error) {
	index := s.index
	sync := func() error { return index.do("sync folder", func() error { return spill.SyncFolder(index.folder) }) }
	if index.replaces != nil {
		if err = index.do("remove old index", func() error { return index.root.Remove(index.base) }); err != nil {
			return 0, err
		}
		if err = sync(); err != nil {
			return 0, err
		}
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
		err = os.Remove(filepath.Join(filepath.Dir(s.names.stem), name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return named, err
		}
	}
	if err = sync(); err == nil {
		err = appear(index)
	}
	return named, err
}
