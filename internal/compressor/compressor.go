// Package compressor holds the compressors that a program links by importing their packages, such as format/brotli.
//
// Package format knows the formats of all of them. A library that only some programs need registers itself here, so
// that a program that does not import it is no larger for it.
package compressor

import (
	"fmt"
	"io"
	"sync"
)

// Library compresses and decompresses one format.
type Library struct {
	NewReader func(io.Reader) io.Reader
	NewWriter func(io.Writer) io.WriteCloser
}

var (
	mu        sync.Mutex
	libraries = map[string]Library{}
)

// Register makes the library of a codec available. Packages call it when they are initialized.
func Register(name string, l Library) {
	mu.Lock()
	defer mu.Unlock()
	libraries[name] = l
}

// Find returns the library of a codec, or an error that names the package to import.
func Find(name string) (Library, error) {
	mu.Lock()
	defer mu.Unlock()
	l, ok := libraries[name]
	if !ok {
		return Library{}, fmt.Errorf("%[1]s is not linked into this program: "+
			"import github.com/extsort/extsort/format/%[1]s", name)
	}
	return l, nil
}
