package input

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// CheckPipes returns an error if two sources are the same pipe. Each of the two would get some of its
// bytes, perhaps parts of records.
func CheckPipes(sources []Source, stdin io.Reader) error {
	var pipes []os.FileInfo
	for _, s := range sources {
		info, err := s.Stat(stdin)
		if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			continue
		}
		if slices.ContainsFunc(pipes, func(p os.FileInfo) bool { return os.SameFile(p, info) }) {
			return fmt.Errorf("%s: this pipe is named more than once, but can be read only once", s.Name)
		}
		pipes = append(pipes, info)
	}
	return nil
}

// SameContent reports whether a write to one of two opened files changes the content of the
// other: both are the same regular file, under any names, or the same block device.
func SameContent(a, b os.FileInfo) bool {
	switch {
	case a.Mode().IsRegular():
		return os.SameFile(a, b)
	case isDisk(a) && isDisk(b):
		return os.SameFile(a, b) || sameDevice(a, b)
	}
	return false
}

func isDisk(f os.FileInfo) bool {
	return f.Mode()&fs.ModeDevice != 0 && f.Mode()&fs.ModeCharDevice == 0
}
