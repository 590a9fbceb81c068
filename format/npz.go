package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/flate"

	"github.com/extsort/extsort/internal/option"
)

// zipMagic is the beginning of a Zip archive. Its version and its method are small numbers.
const zipMagic = "PK\x03\x04?\x00???\x00"

// npz is a Zip archive of .npy files, as written by numpy.savez. A header belongs to a member. An
// output is a single array.
var npz = container{
	Container: Container{
		Name:        "npz",
		About:       "archive of NumPy arrays",
		Title:       "archive of NumPy arrays",
		Magic:       zipMagic,
		IsArray:     true,
		IsArchive:   true,
		ListsFields: true,
		HasFields:   true,
		HasCount:    true,
	},
	found: "a Zip archive, as NumPy's .npz is",
	advice: func() string {
		return fmt.Sprintf(
			"of arrays %v npz; else extract its files", option.Format,
		)
	},
	check:    Spec.checkNpy,
	read:     Spec.readNpy,
	describe: readNpyArray,
	written:  &npy,
}

// A Member is an array in an archive.
type Member struct {
	Name  string // without .npy
	Bytes int64  // size of its .npy file
	file  *zip.File
}

// maxDirectory limits how much of an archive is read to find its members, in bytes. Each member
// has at least 46 bytes and needs about 400 bytes of memory.
const maxDirectory = 1 << 20

var errDirectory = fmt.Errorf(
	"its directory is longer than the maximum of %d bytes", maxDirectory,
)

// A directory limits how much of an archive may be read.
type directory struct {
	r    io.ReaderAt
	left int64 // remaining bytes
}

// ReadAt also rejects a large number of members, for which the zip package would allocate memory
// before it reads them.
func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	if d.left -= int64(len(p)); d.left < 0 {
		return 0, errDirectory
	}
	n, err := d.r.ReadAt(p, off)
	const end64, count = "PK\x06\x06", 32
	if bytes.HasPrefix(p[:n], []byte(end64)) && n >= count+8 &&
		binary.LittleEndian.Uint64(p[count:]) > maxDirectory/46 {
		return 0, errDirectory
	}
	return n, err
}

// Members returns the arrays of an archive of size bytes. It is an error if none exists.
func Members(r io.ReaderAt, size int64) (all []Member, err error) {
	d := &directory{r, maxDirectory}
	archive, err := zip.NewReader(d, size)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	d.left = math.MaxInt64
	archive.RegisterDecompressor(zip.Deflate, flate.NewReader)
	for _, f := range archive.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if ok {
			all = append(all, Member{name, int64(f.UncompressedSize64), f})
		}
	}

	if len(all) == 0 {
		return nil, errors.New("the archive contains no NumPy array")
	}
	return all, nil
}

// ChooseMember returns the member with the given name, with or without .npy. If there are
// several, it returns the last one, like NumPy. If name is "", it returns the only member. The error
// is an *option.Error about Member.
func ChooseMember(all []Member, name string) (*Member, error) {
	if name == "" && len(all) == 1 {
		return &all[0], nil
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Name == strings.TrimSuffix(name, ".npy") && name != "" {
			return &all[i], nil
		}
	}

	has := joinNames(all, func(m Member) string { return m.Name })
	if name == "" {
		return nil, &option.Error{Field: option.Member, Text: fmt.Sprintf(
			"the archive has %d arrays, so choose one with %v NAME: %s", len(all),
			option.Member, has,
		)}
	}
	return nil, &option.Error{Field: option.Member, Text: fmt.Sprintf(
		"the archive contains no array %.99q, only %s", name, has,
	)}
}

// Open returns a reader of the decompressed .npy file. It verifies the checksum at the end.
func (m *Member) Open() (io.ReadCloser, error) {
	const encrypted = 1
	if m.file.Flags&encrypted != 0 {
		return nil, fmt.Errorf(
			"the array %.99q is encrypted: extract it first", m.Name,
		)
	}
	r, err := m.file.Open()
	if err != nil {
		err = fmt.Errorf("open the array %.99q of the archive: %w", m.Name, err)
	}
	return r, err
}
