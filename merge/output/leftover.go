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
	maxNames = 16 // number of temporary names to try
	// knownNames is how many of these names are the same in every process on this machine. A
	// later process finds the leftovers of a killed one by these names.
	knownNames = 8
)

// host identifies this machine in temporary names, because a lock may not be visible to other
// machines.
var host = sync.OnceValue(func() uint32 {
	name, err := os.Hostname()
	if err != nil {
		return rand.Uint32()
	}
	return uint32(xxh3.HashString(name))
})

// tempName returns the i-th candidate for the temporary name of the file. Beyond the known names,
// or if no lock shows that this process is running, it returns a random name that no other
// process looks for.
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

// maxBaseBytes limits the part of a name that derived names repeat. File systems limit names to
// 255 bytes (not characters).
const maxBaseBytes = 200

// shortened returns the beginning of a name. It never splits a character.
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

// removeLeftovers removes the temporary files of killed processes that wrote the same output. It
// ignores errors, because a leftover that stays does no harm.
func (o *Output) removeLeftovers() {
	for i := range knownNames {
		name := o.numbered(uint32(i))
		file, err := o.root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // usually there is none
		}
		if isDead(file) && o.isNamed(name, file) {
			_ = o.root.Remove(name)
		}
		file.Close()
	}
}

// nameTemp performs an operation that gives the file a temporary name. If the name exists, it
// tries another one.
func (o *Output) nameTemp(operation string, give func(name string) error) error {
	for i := range maxNames {
		name := o.tempName(i)
		err := o.perform(operation, func() error { return give(name) })
		if err == nil {
			o.temp = name
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}

	return fs.ErrExist
}

// openTemp creates the file under a temporary name. Until the file is locked, another process may
// mistake it for a leftover.
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
	case !o.isNamed(name, file):
		file.Close()
		return fs.ErrExist
	}

	o.file = file
	return nil
}

// isNamed reports whether the directory lists a regular file under the given name.
func (o *Output) isNamed(name string, file *os.File) bool {
	named, missing := o.root.Lstat(name)
	opened, err := file.Stat()
	return missing == nil && err == nil && named.Mode().IsRegular() && os.SameFile(named, opened)
}

// removeTemp removes the temporary name, unless the file is to be kept.
func (o *Output) removeTemp() error {
	name := o.temp
	o.temp = ""
	if name == "" || o.kept.keepsRecords() {
		return nil
	}
	return o.root.Remove(name)
}
