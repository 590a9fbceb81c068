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
func (n *naming) tempName(i int) string {
	number := uint32(i)
	switch {
	case i == 0 && n.resumable.isResumable():
		number = uint32(xxh3.HashString(n.resumable.Owner)) | 1<<31
	case i >= knownNames || n.unlocked:
		number = rand.Uint32() | 1<<31
	}
	return n.numbered(number)
}

// numbered returns a temporary name with a number.
func (n *naming) numbered(number uint32) string {
	return fmt.Sprintf(".%s%s%08x%08x", shortened(n.base), temporary, host(), number)
}

// temporary is part of all temporary names.
const temporary = ".extsort-"

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
func (n *naming) removeLeftovers() {
	for i := range knownNames {
		name := n.numbered(uint32(i))
		file, err := n.parent.files.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue // usually there is none
		}
		if isDead(file) && n.parent.isNamed(name, file) {
			_ = n.parent.files.Remove(name)
		}
		file.Close()
	}
}

// nameTemporarily performs an operation that gives the file a temporary name.
func (n *naming) nameTemporarily(operation string, give func(name string) error) (err error) {
	n.temp, err = n.firstFree(operation, give)
	return err
}

// firstFree performs an operation that gives a file a temporary name. If the name exists, it tries
// another one.
func (n *naming) firstFree(operation string, give func(name string) error) (string, error) {
	for i := range maxNames {
		name := n.tempName(i)
		err := n.ops.perform(operation, func() error { return give(name) })
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}

	return "", fs.ErrExist
}

// openTemp creates the file under a temporary name. Until the file is locked, another process may
// mistake it for a leftover.
func (n *naming) openTemp(name string, perm fs.FileMode) (*os.File, error) {
	file, err := n.parent.files.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	switch {
	case n.unlocked:
	case lock(file) != nil:
		n.unlocked = true
		file.Close()
		return nil, errors.Join(fs.ErrExist, n.parent.files.Remove(name))
	case !n.parent.isNamed(name, file):
		file.Close()
		return nil, fs.ErrExist
	}

	return file, nil
}
