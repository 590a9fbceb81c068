package format

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// A Container describes a file format: the bytes around the records.
type Container struct {
	Name  string // as in Spec.Format; "" for plain records
	About string // a few words for help texts; related containers have the same
	Title string // name of such a file in extsort info; "" means Name
	// Magic is the beginning of a file, in which a question mark matches any byte. It is "" if
	// the first bytes are not characteristic.
	Magic string

	IsPlain   bool // a file contains only records
	IsArray   bool // a NumPy array
	IsArchive bool // a Zip archive of arrays

	ListsFields bool // ReadArray can read its header
	HasFields   bool // keys are chosen among fields or columns
	HasCount    bool // a file contains the number of its records
}

// A container is a Container with its functions. Everything specific to one container is in its
// row.
type container struct {
	Container

	// found is the name, in messages, of a file that begins with Magic, with an article. advice
	// says how to sort such a file other than as plain records.
	found  string
	advice func() string

	// guess describes a file that begins with a count that matches its size. counts describes
	// these first bytes in a warning. guess is nil if there is no such count.
	guess  func(f file) (Spec, bool)
	counts string

	// check returns the errors of a description.
	check func(s Spec) []error

	// read reads a header and not a byte more. It is nil if there is no header.
	read func(s Spec, r io.Reader) (*Header, error)

	// create creates a header. It is nil if such files can be sorted but not created.
	create func(s Spec) (*Header, error)

	// describe reads a header and lists the fields that can be keys. It is nil if the header does
	// not describe any.
	describe func(r io.Reader) (*Array, error)

	// encode returns a header. Its length does not depend on the number of records. It is nil if
	// there is no header.
	encode func(h *Header, records int64) []byte

	// withAppended adapts a header to records that are followed by other columns. It is nil if
	// nothing needs to be adapted.
	withAppended func(h *Header, columns []Column) error

	maxRecords int64      // maximum number of records in a header; 0 means no limit
	written    *container // container of the output for such inputs; nil means the same
	hasSize    bool       // Spec.RecordSize may be given
}

// file describes a file before it is read.
type file struct {
	name        string
	first       []byte // the first DetectBytes bytes, or all if the file is shorter
	bytes       int64  // size of the file; negative if not known
	description Spec   // the user's description of the records
}

// containers lists all file formats in the order of help texts.
var containers = []*container{
	&plain, &gensort, &npy, &npz,
	vecs("fvecs", Type{Kind: Float, Size: 4}),
	vecs("bvecs", Type{Kind: Unsigned, Size: 1}),
	vecs("ivecs", Type{Kind: Signed, Size: 4}),
	&sosd,
	bigann(bigannFormats[0]), bigann(bigannFormats[1]), bigann(bigannFormats[2]), bigann(bigannFormats[3]),
}

// namedContainers returns the containers that Spec.Format can name, in the order of help texts.
func namedContainers() []*container {
	return slices.DeleteFunc(slices.Clone(containers), func(c *container) bool {
		return c.Name == ""
	})
}

// ContainerNames returns the valid values of Spec.Format.
func ContainerNames() []string {
	var names []string
	for _, c := range namedContainers() {
		names = append(names, c.Name)
	}
	return names
}

// ContainerHelp describes all containers in one line. It groups related containers.
func ContainerHelp() string {
	var parts []string
	all := namedContainers()
	for i := 0; i < len(all); {
		family := []string{}
		about := all[i].About
		for ; i < len(all) && all[i].About == about; i++ {
			family = append(family, all[i].Name)
		}
		parts = append(parts, english.WordSeries(family, "or")+": "+about)
	}

	return strings.Join(parts, "; ")
}

// Container returns the container named in s. If there is no such container, only the name is
// set.
func (s Spec) Container() Container {
	if c := s.container(); c != nil {
		return c.Container
	}
	return Container{Name: s.Format}
}

// container returns the row of the container that s names, or nil.
func (s Spec) container() *container {
	at := slices.IndexFunc(containers, func(c *container) bool {
		return c.Name == s.Format
	})
	if at < 0 {
		return nil
	}
	return containers[at]
}

// ByMagic returns the container of a file that begins with first, if the beginning is
// characteristic.
func ByMagic(first []byte) (c Container, ok bool) {
	found := byMagic(first)
	if found == nil {
		return Container{}, false
	}
	return found.Container, true
}

func byMagic(first []byte) *container {
	at := slices.IndexFunc(containers, func(c *container) bool {
		return c.Magic != "" && matches(first, c.Magic)
	})
	if at < 0 {
		return nil
	}
	return containers[at]
}

// Guess describes a file without a description from the user, if numbers at its beginning match
// its name or size. first is its beginning, and bytes its size.
func (r Recognition) Guess(
	name string,
	first []byte,
	bytes int64,
) (s Spec, ok bool) {
	_, s, ok = r.guess(file{
		name:  name,
		first: first,
		bytes: bytes,
	})
	return s, ok
}

func (r Recognition) guess(f file) (*container, Spec, bool) {
	if r.Raw {
		return nil, Spec{}, false
	}
	for _, c := range containers {
		if c.guess == nil {
			continue
		}
		s, ok := c.guess(f)
		if ok {
			return c, s, true
		}
	}

	return nil, Spec{}, false
}

// families returns the first container of each group, for short messages.
func families() []string {
	var names []string
	last := ""
	for _, c := range namedContainers() {
		if c.About != last {
			names = append(names, c.Name)
		}
		last = c.About
	}
	return names
}

// archives returns the containers that can contain several arrays.
func archives() []string {
	var names []string
	for _, c := range namedContainers() {
		if c.IsArchive {
			names = append(names, c.Name)
		}
	}
	return names
}

// fileSuffix returns the suffix of a file name, ignoring the suffix of a compression.
func fileSuffix(name string) string {
	last := filepath.Ext(name)
	if isCompressionSuffix(last) {
		return filepath.Ext(strings.TrimSuffix(name, last))
	}
	return last
}

// exclusion is a helper for rows. It returns an error if an option was given that the container
// excludes.
func exclusion(given bool, f option.Field, text string, args ...any) []error {
	if !given {
		return nil
	}
	return []error{option.Errorf(f, text, args...)}
}
