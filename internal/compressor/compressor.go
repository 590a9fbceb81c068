// Package compressor is the registry of optional compressors, such as format/brotli.
//
// Package format recognizes the formats of all of them. Importing the package of a compressor
// registers its library here, so only programs that import it become larger.
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
