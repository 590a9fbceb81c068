// Command store is the object store of the tests with the tag s3: gofakes3, which keeps objects in memory. It is a
// module of its own, so that programs that import extsort do not depend on gofakes3.
//
// The first element of a path names a store; the rest is the path of an S3 request. A store begins empty with the first
// request that names it, and DELETE of its name removes it.
//
// The program prints the URL that it serves. It ends when its standard input ends. Package remotetest holds the other
// end of that pipe, so the program never outlives the tests.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves stores until in ends.
func run(in io.Reader, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() {
		failed <- http.Serve(listener, &stores{byName: map[string]http.Handler{}})
	}()
	go func() {
		_, err := io.Copy(io.Discard, in)
		failed <- err
	}()
	if _, err := fmt.Fprintf(out, "http://%s\n", listener.Addr()); err != nil {
		return err
	}
	return <-failed
}

// stores passes each request on to the store that its path names.
type stores struct {
	mu     sync.Mutex
	byName map[string]http.Handler
}

func (s *stores) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if rest == "" && r.Method == http.MethodDelete {
		s.remove(name)
		return
	}
	http.StripPrefix("/"+name, s.find(name)).ServeHTTP(w, r)
}

// find returns the store with a name. It creates the store the first time.
func (s *stores) find(name string) http.Handler {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byName[name]
	if !ok {
		found = gofakes3.New(s3mem.New(), gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
		s.byName[name] = found
	}
	return found
}

// remove frees the objects of a store.
func (s *stores) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byName, name)
}
