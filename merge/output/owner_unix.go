//go:build unix

package output

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// owner is whom a file belongs to.
type owner struct {
	known       bool
	user, group int
}

func ownerOf(info fs.FileInfo) owner {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return owner{}
	}
	return owner{true, int(stat.Uid), int(stat.Gid)}
}

// keep lets f belong to whom the file belonged that it is to replace, as far as this process may.
func (o owner) keep(f File) {
	if o.known && f.Chown(o.user, o.group) != nil {
		f.Chown(-1, o.group)
	}
}

// OpenDescriptor opens a second descriptor of the same open file, so that it can be closed.
func (systemFS) OpenDescriptor(number int) (File, error) {
	name := "/dev/fd/" + strconv.Itoa(number)
	fd, err := unix.FcntlInt(uintptr(number), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if flags&unix.O_ACCMODE == unix.O_RDONLY {
			unix.Close(fd)
			err = unix.EBADF // it is not open for writing
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return newSystemFile(os.NewFile(uintptr(fd), name)), nil
}
