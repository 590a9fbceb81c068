// Package remotetest provides an S3 store and a file server for tests. A separate program holds the
// objects. A proxy in the process of the test counts, delays, interrupts and refuses requests.
package remotetest

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Server serves the objects of one bucket by S3, and the same objects as files; see S3 and HTTP.
type Server struct {
	*httptest.Server
	store *store

	Requests      atomic.Int64
	Bytes         atomic.Int64 // number of bytes sent
	Copied        atomic.Int64 // number of bytes copied from one object to another
	MaxConcurrent atomic.Int64 // maximum number of concurrent requests
	underWay      atomic.Int64

	completing sync.Mutex
	uploads    sync.Map // names of objects by upload ID

	mu    sync.Mutex
	wrap  func(http.Handler) http.Handler
	files map[string]file
}

// A file is the content of an object and its ETag.
type file struct {
	content []byte
	tag     string
}

// bucket is the name of the only bucket.
const bucket = "bucket"

// Start starts a server for the duration of a test and sets the environment variables of Env.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for name, value := range s.Env() {
		t.Setenv(name, value)
	}
	return s
}

// New starts a server.
func New() (*Server, error) {
	objects, err := newStore()
	if err != nil {
		return nil, err
	}
	s := &Server{store: objects, files: map[string]file{}}
	all := http.NewServeMux()
	all.HandleFunc("/files/{name...}", s.serve)
	all.Handle("/", s.extended(s.store.proxy))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		now := s.underWay.Add(1)
		defer s.underWay.Add(-1)
		for most := s.MaxConcurrent.Load(); now > most && !s.MaxConcurrent.CompareAndSwap(
			most,
			now,
		); most = s.MaxConcurrent.Load() {
		}
		s.mu.Lock()
		wrap := s.wrap
		s.mu.Unlock()
		w = &countingWriter{w, &s.Bytes}
		if wrap != nil {
			wrap(all).ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	}))
	return s, nil
}

// Close stops the server and removes its objects.
func (s *Server) Close() {
	s.Server.Close()
	s.store.remove()
}

// Wrap makes the server answer with the handler that wrap returns; nil removes it.
func (s *Server) Wrap(wrap func(http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrap = wrap
}

// Env returns the environment variables with the address and the credentials of the store.
func (s *Server) Env() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "an-access-key",
		"AWS_SECRET_ACCESS_KEY": "a-secret-key", "AWS_REGION": "us-east-1"}
}

// S3 returns the name of an object in the store.
func S3(name string) string { return "s3://" + bucket + "/" + name }

// HTTP returns the name of an object as a file of the server.
func (s *Server) HTTP(name string) string { return s.URL + "/files/" + name }

// Put stores an object.
func (s *Server) Put(name string, content []byte) error {
	sum := md5.Sum(content)
	s.mu.Lock()
	s.files[name] = file{content, `"` + hex.EncodeToString(sum[:]) + `"`}
	s.mu.Unlock()
	_, _, err := s.store.request(http.MethodPut, name, content)
	return err
}

// Get returns the content of an object, or nil if it does not exist.
func (s *Server) Get(name string) []byte {
	_, content, err := s.store.request(http.MethodGet, name, nil)
	if err != nil {
		return nil
	}
	return content
}

// Delete removes an object.
func (s *Server) Delete(name string) error {
	_, _, err := s.store.request(http.MethodDelete, name, nil)
	return err
}

// serve serves an object as a file with an ETag.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f, ok := s.files[r.PathValue("name")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", f.tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.content))
}

// countingWriter counts the bytes of responses.
type countingWriter struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// Unwrap is for http.ResponseController.
func (c *countingWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// DelayResponses delays every response.
func DelayResponses(delay time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(delay)
			next.ServeHTTP(w, r)
		})
	}
}

// Together responds to no request before the given number of requests has arrived. If they do not
// arrive within 20 s, it refuses all.
func Together(requests int64) func(http.Handler) http.Handler {
	var came atomic.Int64
	all := make(chan struct{})
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if came.Add(1) == requests {
				close(all)
			}
			select {
			case <-all:
				next.ServeHTTP(w, r)
			case <-time.After(20 * time.Second):
				http.Error(w, "too few requests arrived", http.StatusBadRequest)
			}
		})
	}
}

// Unreliable responds to one of 20 requests with status 503, and truncates one of 7 responses to
// GET.
func Unreliable() func(http.Handler) http.Handler {
	var requests atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := requests.Add(1); {
			case n%20 == 0:
				http.Error(w, "slow down", http.StatusServiceUnavailable)
			case n%7 == 0 && r.Method == http.MethodGet:
				next.ServeHTTP(&truncatingWriter{ResponseWriter: w}, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// Unanswered carries out the given number of matching requests, but closes the connection instead
// of responding to them.
func Unanswered(requests int64, matches func(r *http.Request) bool) func(http.Handler) http.Handler {
	var left atomic.Int64
	left.Store(requests)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if matches(r) && left.Add(-1) >= 0 {
				next.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Completes reports whether a request creates an object: it completes an upload or puts a whole
// object.
func Completes(r *http.Request) bool {
	upload := r.URL.Query().Has("uploadId")
	return r.Method == http.MethodPost && upload || r.Method == http.MethodPut && !upload
}

// truncatingWriter closes the connection in the middle of the body.
type truncatingWriter struct {
	http.ResponseWriter
	left int64
	seen bool
}

func (s *truncatingWriter) Write(p []byte) (int, error) {
	if !s.seen {
		size, _ := strconv.ParseInt(strings.TrimSpace(s.Header().Get("Content-Length")), 10, 64)
		s.left = size / 2
		s.seen = true
	}
	n, _ := s.ResponseWriter.Write(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); s.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return len(p), nil
}
