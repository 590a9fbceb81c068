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

// A file is an inode, to which names refer.
type file struct {
	folder bool
	before []byte // content before the command, which is durable
	size   int64  // current size during the command
}

// An effect is the effect of a call on the bytes of a file or on names. A crash may undo it,
// alone or with others, until a sync that began after it has ended.
type effect struct {
	begin, end int // lines of the trace
	durable    int // line from which it cannot be lost

	names   map[string]*file // file that each name refers to afterwards; nil: none
	folders []*file          // directories that contain the names

	file   *file // set if names is nil
	offset int64
	data   []byte // data written at the offset; nil: the effect sets the size
	shrink bool   // the effect may also reduce the size
}

// history contains the effects of a command on the watched directories.
type history struct {
	watched []string         // names before the command
	initial map[string]*file // ordered by their ends
	effects []*effect        // in the order of their ends
	exited  int              // line at which the command began to exit with 0
	over    bool             // the output is overwritten in place

	paths     map[string]*file // current names, and unnamed files in the notation of strace
	opened    map[string]string
	positions map[string]int64   // position of the next write by descriptor; -1: end of file
	syncs     map[*file][][2]int // beginning and end of each sync
}

// newHistory reads the directories before the command runs.
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

// replay finds the effects of calls, and when each became durable. It returns an error for
// unknown calls.
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

// descriptor matches an argument in the notation of strace -y.
var descriptor = regexp.MustCompile(`^(-?\d+)<([^>]*)>(\(deleted\))?$`)

// see records the paths of the descriptors of a call.
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

// target returns the watched file of a descriptor, or nil. A file whose name was removed is
// irrelevant after a crash. An unnamed file (O_TMPFILE) appears as #INODE, even after it has
// received a name.
func (h *history) target(arg string) (fd string, f *file) {
	m := descriptor.FindStringSubmatch(arg)
	if m == nil || !h.watches(m[2]) || m[3] != "" && !strings.HasPrefix(filepath.Base(m[2]), "#") {
		return "", nil
	}
	return m[1], h.paths[m[2]]
}

const inProc = "/proc/self/fd/"

// path returns the path that a call specifies by the descriptor of a directory and a name in it.
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

// name records that a call makes paths refer to files, atomically.
func (h *history) name(c call, names map[string]*file) {
	e := &effect{begin: c.begin, end: c.end, names: names}
	for path, f := range names {
		if f == nil {
			delete(h.paths, path)
		} else {
			h.paths[path] = f
		}
		// The first of the watched directories always exists.
		if folder := filepath.Dir(path); h.watches(folder) {
			e.folders = append(e.folders, h.paths[folder])
		}
	}
	h.effects = append(h.effects, e)
}

// write records a write at an offset.
func (h *history) write(c call, f *file, offset int64, data []byte) {
	f.size = max(f.size, offset+int64(len(data)))
	h.effects = append(h.effects, &effect{begin: c.begin, end: c.end, file: f, offset: offset, data: data})
}

// resize records a new size; if the file grows, the new bytes are 0.
func (h *history) resize(c call, f *file, size int64, shrink bool) {
	if size > f.size || shrink {
		f.size = size
	}
	h.effects = append(h.effects, &effect{begin: c.begin, end: c.end, file: f, offset: size, shrink: shrink})
}

// apply returns the bytes of the file after the effect. If the effect is torn, its second half is
// lost.
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

// never is greater than all line numbers.
const never = 1 << 60

// durableAt returns the end of the first sync that began after the effect: a sync of the file, or
// of all directories whose names changed. POSIX guarantees no more; ext4 does.
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
