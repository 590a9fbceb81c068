package format

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"

	"github.com/extsort/extsort/internal/option"
)

// Container describes a format of files: what surrounds the records.
type Container struct {
	Name  string // as in Spec.Format; "": plain records
	About string // a few words for a help text; related containers share them
	Title string // what extsort info calls such a file; "": its Name
	Magic string // the first bytes, in which a question mark stands for any byte; "": the first bytes do not tell

	IsPlain   bool // a file is its records and nothing else
	IsArray   bool // a NumPy array
	IsArchive bool // a Zip archive of arrays

	ListsFields bool // ReadArray reads its header
	HasFields   bool // keys are chosen among fields or columns
	HasCount    bool // a file says how many records it has
}

// container is a Container and what it does. Everything that is specific to one container is in its row.
type container struct {
	Container

	// found is what messages call a file that begins with Magic, with an article. advice returns what to do with such a
	// file instead of sorting it as plain records.
	found  string
	advice func() string

	// guess returns the description of a file that begins with a count that fits its size. counts describes these first
	// bytes, for a warning. nil: there is no such count.
	guess  func(f file) (Spec, bool)
	counts string

	// check returns what is wrong with a description.
	check func(s Spec) []error

	// read reads a header, and not a byte more. nil: there is none.
	read func(s Spec, r io.Reader) (*Header, error)

	// create makes a header. nil: files can be sorted, but not made.
	create func(s Spec) (*Header, error)

	// describe reads a header from which the fields follow that can be keys. nil: it does not describe any.
	describe func(r io.Reader) (*Array, error)

	// encode returns a header, whose length does not depend on the number of records. nil: there is none.
	encode func(h *Header, records int64) []byte

	// withCount adapts a header to records with a count behind each. nil: there is nothing to adapt.
	withCount func(h *Header) error

	maxRecords int64      // the greatest number that a header can announce; 0: any
	written    *container // of an output if the inputs are such files; nil: the same
	hasSize    bool       // Spec.RecordSize may be given
}

// file is what is known of a file before it is read.
type file struct {
	name  string
	first []byte // the first bytes, DetectBytes unless the file is shorter
	bytes int64  // of the file; negative: not known
	given Spec   // what the user says of the records
}

// containers are all formats of files, in the order of help texts.
var containers = []*container{
	&plain, &gensort, &npy, &npz,
	vecs("fvecs", Type{Kind: Float, Size: 4}),
	vecs("bvecs", Type{Kind: Unsigned, Size: 1}),
	vecs("ivecs", Type{Kind: Signed, Size: 4}),
	&sosd,
	bigann(bigannFormats[0]), bigann(bigannFormats[1]), bigann(bigannFormats[2]), bigann(bigannFormats[3]),
}

// namedContainers returns all containers that Spec.Format can name, in the order of help texts.
func namedContainers() []*container {
	return slices.DeleteFunc(slices.Clone(containers), func(c *container) bool { return c.Name == "" })
}

// ContainerNames returns what Spec.Format can be.
func ContainerNames() []string {
	var names []string
	for _, c := range namedContainers() {
		names = append(names, c.Name)
	}
	return names
}

// ContainerHelp describes all containers in one line. Related ones are described together.
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

// Container returns the container that s names. Of one that does not exist only the name is set.
func (s Spec) Container() Container {
	if c := s.container(); c != nil {
		return c.Container
	}
	return Container{Name: s.Format}
}

// container is the row of the container that s names, or nil.
func (s Spec) container() *container {
	at := slices.IndexFunc(containers, func(c *container) bool { return c.Name == s.Format })
	if at < 0 {
		return nil
	}
	return containers[at]
}

// ByMagic returns the container of a file that begins with first, if its first bytes tell.
func ByMagic(first []byte) (c Container, ok bool) {
	found := byMagic(first)
	if found == nil {
		return Container{}, false
	}
	return found.Container, true
}

func byMagic(first []byte) *container {
	at := slices.IndexFunc(containers, func(c *container) bool { return c.Magic != "" && matches(first, c.Magic) })
	if at < 0 {
		return nil
	}
	return containers[at]
}

// Guess describes a file that nothing was said about, if numbers at its beginning fit its name or its size. first is
// its beginning, and bytes its size.
func (r Recognition) Guess(name string, first []byte, bytes int64) (s Spec, ok bool) {
	_, s, ok = r.guess(file{name: name, first: first, bytes: bytes})
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
		if s, ok := c.guess(f); ok {
			return c, s, true
		}
	}
	return nil, Spec{}, false
}

// families returns the first container of each family, for messages that are too short for all.
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

// archives returns the containers that have several arrays.
func archives() []string {
	var names []string
	for _, c := range namedContainers() {
		if c.IsArchive {
			names = append(names, c.Name)
		}
	}
	return names
}

// suffix returns the suffix of a file's name, without that of a compression.
func suffix(name string) string {
	last := filepath.Ext(name)
	if isCompressionSuffix(last) {
		return filepath.Ext(strings.TrimSuffix(name, last))
	}
	return last
}

// exclusion is a helper of rows: the error of an option that a container excludes, if it was given.
func exclusion(given bool, f option.Field, text string, args ...any) []error {
	if !given {
		return nil
	}
	return []error{option.Errorf(f, text, args...)}
}
