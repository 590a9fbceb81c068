//go:build linux

package powerloss

import (
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

var errUnknown = errors.New("the model does not know this call")

// do records the effect of a call on watched files.
func (h *history) do(c call) error {
	switch c.name {
	case "openat":
		return h.open(c)
	case "mkdirat", "unlinkat", "linkat", "renameat", "renameat2":
		return h.doNames(c)
	case "exit_group":
		h.exited = c.begin
		return nil
	case "open", "creat", "openat2", "mkdir", "rmdir", "unlink", "link", "symlink", "symlinkat", "rename", "truncate":
		return errUnknown // names without the descriptor of a directory
	case "close", "read", "lseek", "fcntl", "dup", "dup2", "dup3", "mmap":
		return h.doDescriptor(c)
	}
	fd, f := h.target(c.args[0])
	if f == nil {
		return h.doElsewhere(c)
	}
	return h.doFile(c, fd, f)
}

// doElsewhere handles a call whose first descriptor is not of a watched file. No other descriptor
// may be of one.
func (h *history) doElsewhere(c call) error {
	for _, arg := range c.args[1:] {
		if _, f := h.target(arg); f != nil {
			return errUnknown
		}
	}
	return nil
}

func (h *history) open(c call) error {
	path, err := h.path(c.args[0], c.args[1])
	flags := number(c.args[2])
	unnamed := flags&unix.O_TMPFILE == unix.O_TMPFILE
	if unnamed {
		path = c.opened
	}
	if err != nil || !h.watches(path) {
		return err
	}
	if flags&unix.O_DSYNC != 0 {
		return errUnknown
	}
	fd := strconv.FormatInt(c.result, 10)
	h.positions[fd] = 0
	if flags&unix.O_APPEND != 0 {
		h.positions[fd] = -1
	}
	f := h.paths[path]
	switch {
	case unnamed:
		h.paths[path] = &file{}
	case f == nil && flags&unix.O_CREAT != 0:
		h.name(c, map[string]*file{path: {}})
	case f != nil && flags&unix.O_TRUNC != 0:
		h.resize(c, f, 0, true)
	}
	return nil
}

// doNames handles a call that changes names in directories.
func (h *history) doNames(c call) error {
	path, err := h.path(c.args[0], c.args[1])
	if err != nil {
		return err
	}
	f := h.paths[path]
	switch {
	case c.name == "mkdirat" && h.watches(path):
		h.name(c, map[string]*file{path: {folder: true}})
	case c.name == "unlinkat" && h.watches(path):
		h.name(c, map[string]*file{path: nil})
	case len(c.args) > 3:
		to, err := h.path(c.args[2], c.args[3])
		if err != nil || !h.watches(path) && !h.watches(to) {
			return err
		}
		if f == nil || f.folder || !h.watches(
			to,
		) || c.name == "renameat2" && number(c.args[4]) > unix.RENAME_NOREPLACE {
			return errUnknown
		}
		names := map[string]*file{to: f}
		if c.name != "linkat" {
			names[path] = nil
		}
		h.name(c, names)
	}
	return nil
}

// doDescriptor handles a call that changes the position or the file of a descriptor.
func (h *history) doDescriptor(c call) error {
	fd, f := h.target(c.args[0])
	switch c.name {
	case "mmap":
		_, f := h.target(c.args[4])
		if f != nil && number(c.args[2])&unix.PROT_WRITE != 0 && number(c.args[3])&unix.MAP_TYPE != unix.MAP_PRIVATE {
			return errUnknown
		}
	case "lseek":
		if f != nil {
			h.positions[fd] = c.result
		}
	case "read":
		if f != nil && h.positions[fd] >= 0 {
			h.positions[fd] += c.result
		}
	case "dup", "dup2", "dup3", "fcntl":
		if f != nil && c.opened != "" {
			h.positions[strconv.FormatInt(c.result, 10)] = h.positions[fd]
		}
	}
	return nil
}

// doFile handles a call for an open watched file or directory.
func (h *history) doFile(c call, fd string, f *file) error {
	switch c.name {
	case "fsync", "fdatasync":
		h.syncs[f] = append(h.syncs[f], [2]int{c.begin, c.end})
	case "sync_file_range": // makes nothing durable
	case "ftruncate":
		h.resize(c, f, number(c.args[1]), true)
	case "fallocate":
		if mode := number(c.args[1]); mode == 0 {
			h.resize(c, f, number(c.args[2])+number(c.args[3]), false)
		} else if mode != unix.FALLOC_FL_KEEP_SIZE {
			return errUnknown
		}
	case "write", "pwrite64":
		text, err := strconv.Unquote(c.args[1])
		if err != nil || int64(len(text)) < c.result {
			return errors.Join(errUnknown, err)
		}
		offset := h.positions[fd]
		if offset < 0 {
			offset = f.size
		}
		if c.name == "pwrite64" {
			offset = number(c.args[3])
		} else if h.positions[fd] >= 0 {
			h.positions[fd] += c.result
		}
		h.write(c, f, offset, []byte(text[:c.result]))
	default:
		return errUnknown
	}
	return nil
}

// number parses an argument. It returns -1, which has all flags set, if the argument is not a
// number.
func number(arg string) int64 {
	n, err := strconv.ParseInt(arg, 0, 64)
	if err != nil {
		return -1
	}
	return n
}
