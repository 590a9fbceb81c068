package spill

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/windows"
)

// openUnlinked creates a file that the system removes when it is closed, at the latest when the
// process ends for whatever reason. Until then it has a random name.
func openUnlinked(folder string) (*os.File, error) {
	const flags = windows.FILE_FLAG_DELETE_ON_CLOSE | windows.FILE_FLAG_RANDOM_ACCESS | os.O_RDWR | os.O_CREATE | os.O_EXCL
	for {
		name := filepath.Join(folder, "extsort-"+strconv.FormatUint(rand.Uint64(), 36))
		file, err := os.OpenFile(name, flags, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}
