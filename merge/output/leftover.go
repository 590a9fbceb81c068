package output

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/zeebo/xxh3"
)

const (
	maxNames   = 16 // temporary names that are tried
	knownNames = 8  // of these, which are the same in every run on this machine: a later one finds what a killed one left
)

// host is a part of temporary names, since a lock may tell no more than what lives on this machine.
var host = sync.OnceValue(func() uint32 {
	name, err := os.Hostname()
	if err != nil {
		return rand.Uint32()
	}
	return uint32(xxh3.HashString(name))
})

// tempName is the i-th name that the file may have before its own; a random one, which no other run looks at, where
// that is not known or no lock says that this run lives.
func (o *Output) tempName(i int) string {
	n := uint32(i)
	switch {
	case i == 0 && o.kept != nil:
		n = uint32(xxh3.HashString(o.kept.Owner)) | 1<<31
	case i >= knownNames || o.unlocked:
		n = rand.Uint32() | 1<<31
	}
	return o.numbered(n)
}

func (o *Output) numbered(n uint32) string {
	return fmt.Sprintf(".%s.extsort-%08x%08x", shortened(o.base), host(), n)
}

// maxBaseBytes is how much of a name others have that are made of it: file systems allow 255 bytes, and not characters.
const maxBaseBytes = 200

// shortened is the begin of a name, without a part of a character at its end.
func shortened(name string) string {
	if len(name) <= maxBaseBytes {
		return name
	}
	end := maxBaseBytes
	for end > maxBaseBytes-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// removeLeftovers removes what runs to the same output left that were killed while their file had a temporary name. It
// needs no error: what cannot be removed is in nobody's way.
func (o *Output) removeLeftovers() {
	for i := range knownNames {
		name := o.numbered(uint32(i))
		file, err := o.root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // as a rule there is none
		}
		if isDead(file) && o.stands(name, file) {
			_ = o.root.Remove(name)
		}
		file.Close()
	}
}

// nameTemp does an operation that gives the file a temporary name, with another one where that stands already.
func (o *Output) nameTemp(operation string, give func(name string) error) error {
	for i := range maxNames {
		name := o.tempName(i)
		err := o.do(operation, func() error { return give(name) })
		if err == nil {
			o.temp = name
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fs.ErrExist
}

// openTemp makes the file under a temporary name. Until it is locked, another run may take it for a leftover.
func (o *Output) openTemp(name string, perm fs.FileMode) error {
	file, err := o.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	switch {
	case o.unlocked:
	case lock(file) != nil:
		o.unlocked = true
		file.Close()
		return errors.Join(fs.ErrExist, o.root.Remove(name))
	case !o.stands(name, file):
		file.Close()
		return fs.ErrExist
	}
	o.file = file
	return nil
}

// stands reports whether a regular file has a name in the folder.
func (o *Output) stands(name string, file *os.File) bool {
	named, missing := o.root.Lstat(name)
	opened, err := file.Stat()
	return missing == nil && err == nil && named.Mode().IsRegular() && os.SameFile(named, opened)
}

// removeTemp takes the temporary name away, but for that of a file that is kept.
func (o *Output) removeTemp() error {
	name := o.temp
	o.temp = ""
	if name == "" || o.kept.worth() {
		return nil
	}
	return o.root.Remove(name)
}
