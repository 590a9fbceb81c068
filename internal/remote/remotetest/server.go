// Package remotetest is a store that speaks S3, and a server of files, in the process of a test. The objects are in a
// program of their own, behind a proxy in this process where tests count, delay, break and refuse requests.
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

// Server has the objects of one bucket, and the same as files below Files.
type Server struct {
	*httptest.Server
	store *store

	Requests atomic.Int64
	Bytes    atomic.Int64 // that were sent
	Copied   atomic.Int64 // bytes, from one object to another
	Most     atomic.Int64 // requests that were under way at the same time
	underWay atomic.Int64

	completing sync.Mutex
	uploads    sync.Map // from their identities to the names of objects

	mu    sync.Mutex
	wrap  func(http.Handler) http.Handler
	files map[string]file
}

// file is what was put, with its ETag.
type file struct {
	content []byte
	tag     string
}

// bucket is the name of the only bucket.
const bucket = "bucket"

// Start starts a server for the time of a test, which this process finds by its environment.
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
		for most := s.Most.Load(); now > most && !s.Most.CompareAndSwap(most, now); most = s.Most.Load() {
		}
		s.mu.Lock()
		wrap := s.wrap
		s.mu.Unlock()
		w = &counted{w, &s.Bytes}
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

// Wrap has what wrap makes of the server answer from now on; nil: the server itself.
func (s *Server) Wrap(wrap func(http.Handler) http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrap = wrap
}

// Env is what lets a process find the store.
func (s *Server) Env() map[string]string {
	return map[string]string{"AWS_ENDPOINT_URL_S3": s.URL, "AWS_ACCESS_KEY_ID": "an-access-key",
		"AWS_SECRET_ACCESS_KEY": "a-secret-key", "AWS_REGION": "us-east-1"}
}

// S3 and HTTP are the two names of an object.
func S3(name string) string { return "s3://" + bucket + "/" + name }

// HTTP is the name of an object as a file of the server.
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

// Get is what an object has; nil: there is none.
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

type counted struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes.Add(int64(n))
	return n, err
}

// Unwrap lets http.ResponseController find what it needs.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Late answers after a while.
func Late(delay time.Duration) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(delay)
			next.ServeHTTP(w, r)
		})
	}
}

// Together answers no request before so many have come, and refuses all where they do not.
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
				http.Error(w, "no others came", http.StatusBadRequest)
			}
		})
	}
}

// Unreliable answers one request of 20 with 503, and cuts one answer of 7 that has a body short.
func Unreliable() func(http.Handler) http.Handler {
	var requests atomic.Int64
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n := requests.Add(1); {
			case n%20 == 0:
				http.Error(w, "slow down", http.StatusServiceUnavailable)
			case n%7 == 0 && r.Method == http.MethodGet:
				next.ServeHTTP(&short{ResponseWriter: w}, r)
			default:
				next.ServeHTTP(w, r)
			}
		})
	}
}

// Unanswered does what the first requests of those that are meant ask for, so many of them, and breaks the connection.
func Unanswered(requests int64, meant func(r *http.Request) bool) func(http.Handler) http.Handler {
	var left atomic.Int64
	left.Store(requests)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if meant(r) && left.Add(-1) >= 0 {
				next.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Completes reports whether a request makes an object: of an upload, or an empty one.
func Completes(r *http.Request) bool {
	upload := r.URL.Query().Has("uploadId")
	return r.Method == http.MethodPost && upload || r.Method == http.MethodPut && !upload
}

// short breaks the connection in the middle of the body.
type short struct {
	http.ResponseWriter
	left int64
	seen bool
}

func (s *short) Write(p []byte) (int, error) {
	if !s.seen {
		size, _ := strconv.ParseInt(strings.TrimSpace(s.Header().Get("Content-Length")), 10, 64)
		s.left, s.seen = size/2, true
	}
	n, _ := s.ResponseWriter.Write(p[:min(int64(len(p)), s.left)])
	if s.left -= int64(n); s.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return len(p), nil
}
