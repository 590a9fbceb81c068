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

// zipMagic begins a Zip archive. Its version and its method are small.
const zipMagic = "PK\x03\x04?\x00???\x00"

// npz is a Zip archive of .npy files, as numpy.savez writes it. A header is that of a member. An output is an array.
var npz = container{
	Container: Container{
		Name: "npz", About: "an archive of such", Title: "archive of NumPy arrays", Magic: zipMagic,
		IsArray: true, IsArchive: true, ListsFields: true, HasFields: true, HasCount: true,
	},
	found:    "a Zip archive, as NumPy's .npz is",
	advice:   func() string { return fmt.Sprintf("of arrays %v npz; else extract its files", option.Format) },
	check:    Spec.checkNpy,
	read:     Spec.readNpy,
	describe: readNpyArray,
	written:  &npy,
}

// Member is an array in an archive.
type Member struct {
	Name  string // without .npy
	Bytes int64  // of its .npy file
	file  *zip.File
}

// maxDirectory bounds what is read of an archive to find its members, in bytes; each of these has 46 at least, and
// takes some 400 of memory.
const maxDirectory = 1 << 20

var errDirectory = fmt.Errorf("its directory is longer than the maximum of %d bytes", maxDirectory)

// directory is an archive of which only so much may be read.
type directory struct {
	r    io.ReaderAt
	left int64 // bytes
}

// ReadAt refuses a count of members, too, for which zip would take memory before it reads them.
func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	if d.left -= int64(len(p)); d.left < 0 {
		return 0, errDirectory
	}
	n, err := d.r.ReadAt(p, off)
	const end64, count = "PK\x06\x06", 32
	if bytes.HasPrefix(p[:n], []byte(end64)) && n >= count+8 && binary.LittleEndian.Uint64(p[count:]) > maxDirectory/46 {
		return 0, errDirectory
	}
	return n, err
}

// Members are the arrays of an archive of so many bytes; none is an error.
func Members(r io.ReaderAt, size int64) (all []Member, err error) {
	d := &directory{r, maxDirectory}
	archive, err := zip.NewReader(d, size)
	if err != nil {
		return nil, fmt.Errorf("read the archive: %w", err)
	}
	d.left = math.MaxInt64
	archive.RegisterDecompressor(zip.Deflate, flate.NewReader)
	for _, f := range archive.File {
		if name, ok := strings.CutSuffix(f.Name, ".npy"); ok {
			all = append(all, Member{name, int64(f.UncompressedSize64), f})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the archive contains no NumPy array")
	}
	return all, nil
}

// ChooseMember is the member called name, with or without .npy, of two the last as in NumPy; "": the only one.
func ChooseMember(all []Member, name string) (*Member, error) {
	if name == "" && len(all) == 1 {
		return &all[0], nil
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Name == strings.TrimSuffix(name, ".npy") && name != "" {
			return &all[i], nil
		}
	}
	has := listed(all, func(m Member) string { return m.Name })
	if name == "" {
		return nil, fmt.Errorf("the archive has %d arrays, so choose one with %v NAME: %s", len(all),
			option.Member, has)
	}
	return nil, fmt.Errorf("the archive contains no array %.99q, only %s", name, has)
}

// Open reads the .npy file, decompressed. At its end its checksum is checked.
func (m *Member) Open() (io.ReadCloser, error) {
	const encrypted = 1
	if m.file.Flags&encrypted != 0 {
		return nil, fmt.Errorf("the array %.99q is encrypted: extract it first", m.Name)
	}
	r, err := m.file.Open()
	if err != nil {
		err = fmt.Errorf("open the array %.99q of the archive: %w", m.Name, err)
	}
	return r, err
}
