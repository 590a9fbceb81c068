//go:build linux

package powerloss

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// file is what names lead to: an inode.
type file struct {
	folder bool
	before []byte // its bytes before the command, which are durable
	size   int64  // while the command runs
}

// effect is what a call did to the bytes of a file, or to names. In a crash it may be lost, alone or with others, until
// a sync that began after it has ended.
type effect struct {
	begin, end int // lines of the trace
	durable    int // the line from which on it cannot be lost

	names   map[string]*file // what each leads to afterwards; nil: nothing
	folders []*file          // that they are in

	file   *file // where names is nil
	offset int64
	data   []byte // written at the offset; nil: the file's size is set
	shrink bool   // a size that is less than before counts, too
}

// history is what a command did in the watched folders.
type history struct {
	watched []string         // with all that is in them
	initial map[string]*file // names before the command
	effects []*effect        // in the order of their ends
	exited  int              // the line at which the command began to exit with 0

	paths     map[string]*file // names while the command runs, and files without one as strace shows them
	opened    map[string]string
	positions map[string]int64   // where the next write to a descriptor goes; -1: to the end
	syncs     map[*file][][2]int // begin and end of each
}

// newHistory reads what stands in the folders, before the command runs.
func newHistory(watched ...string) (*history, error) {
	h := &history{watched: watched, initial: map[string]*file{}, paths: map[string]*file{},
		opened: map[string]string{}, positions: map[string]int64{}, syncs: map[*file][][2]int{}}
	for _, folder := range watched {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			f := &file{folder: entry.IsDir()}
			if !f.folder {
				f.before, err = os.ReadFile(path)
				f.size = int64(len(f.before))
			}
			h.initial[path], h.paths[path] = f, f
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return h, nil
}

// replay finds the effects of calls, and when each became durable. A call that it does not know is an error.
func (h *history) replay(calls []call) error {
	for _, c := range calls {
		h.see(c)
		if err := h.do(c); err != nil {
			return fmt.Errorf("line %d: %s(%.300q): %w", c.end, c.name, c.args, err)
		}
	}
	for _, e := range h.effects {
		e.durable = h.durableAt(e)
	}
	return nil
}

// descriptor is an argument as strace -y shows it.
var descriptor = regexp.MustCompile(`^(-?\d+)<([^>]*)>(\(deleted\))?$`)

// see remembers the paths of the descriptors of a call.
func (h *history) see(c call) {
	for _, arg := range c.args {
		if m := descriptor.FindStringSubmatch(arg); m != nil {
			h.opened[m[1]] = m[2]
		}
	}
	if c.opened != "" {
		h.opened[strconv.FormatInt(c.result, 10)] = c.opened
	}
}

func (h *history) watches(path string) bool {
	return slices.ContainsFunc(h.watched, func(w string) bool { return path == w || strings.HasPrefix(path, w+"/") })
}

// target is the watched file of a descriptor, or nil. One that has lost its name cannot be seen after a crash; one that
// never had any (O_TMPFILE) is shown as #INODE, also when it has got one.
func (h *history) target(arg string) (fd string, f *file) {
	m := descriptor.FindStringSubmatch(arg)
	if m == nil || !h.watches(m[2]) || m[3] != "" && !strings.HasPrefix(filepath.Base(m[2]), "#") {
		return "", nil
	}
	return m[1], h.paths[m[2]]
}

const inProc = "/proc/self/fd/"

// path is what a call names by the descriptor of a folder and a name in it.
func (h *history) path(folder, name string) (string, error) {
	text, err := strconv.Unquote(name)
	if err != nil {
		return "", err
	}
	if fd, ok := strings.CutPrefix(text, inProc); ok {
		return h.opened[fd], nil
	}
	m := descriptor.FindStringSubmatch(folder)
	if !filepath.IsAbs(text) && m != nil {
		text = filepath.Join(m[2], text)
	}
	return filepath.Clean(text), nil
}

// name notes that paths lead to files from a call on, all at once.
func (h *history) name(c call, names map[string]*file) {
	e := &effect{begin: c.begin, end: c.end, names: names}
	for path, f := range names {
		if f == nil {
			delete(h.paths, path)
		} else {
			h.paths[path] = f
		}
		if folder := filepath.Dir(path); h.watches(folder) { // the first of the watched ones is always there
			e.folders = append(e.folders, h.paths[folder])
		}
	}
	h.effects = append(h.effects, e)
}

// write notes bytes at an offset.
func (h *history) write(c call, f *file, offset int64, data []byte) {
	f.size = max(f.size, offset+int64(len(data)))
	h.effects = append(h.effects, &effect{begin: c.begin, end: c.end, file: f, offset: offset, data: data})
}

// resize notes a size, of zeros where it is more than before.
func (h *history) resize(c call, f *file, size int64, shrink bool) {
	if size > f.size || shrink {
		f.size = size
	}
	h.effects = append(h.effects, &effect{begin: c.begin, end: c.end, file: f, offset: size, shrink: shrink})
}

// apply is what the bytes of the file are after the effect. A torn one is lost from its middle on.
func (e *effect) apply(data []byte, torn bool) []byte {
	written := e.data
	if torn {
		written = written[:len(written)/2]
	}
	if end := e.offset + int64(len(written)); end > int64(len(data)) {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	if e.shrink {
		return data[:e.offset]
	}
	copy(data[e.offset:], written)
	return data
}

// never is a line that no trace has.
const never = 1 << 60

// durableAt is the end of the first sync that began after the effect: of the file, or of all folders whose names it
// changed. POSIX promises no more; ext4 does.
func (h *history) durableAt(e *effect) (line int) {
	if e.names == nil {
		return h.syncedAt(e.file, e.end)
	}
	for _, folder := range e.folders {
		line = max(line, h.syncedAt(folder, e.end))
	}
	return line
}

func (h *history) syncedAt(f *file, after int) int {
	first := never
	for _, s := range h.syncs[f] {
		if s[0] > after {
			first = min(first, s[1])
		}
	}
	return first
}
