package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/remote/remotetest"
)

// startUpload returns an upload that has received content but is not committed yet.
func startUpload(t *testing.T, content []byte, fresh bool) *remote.Upload {
	t.Helper()
	u, err := driver{}.Create(t.Context(), remotetest.S3("o"), remote.MinPart, 2)
	if err != nil {
		t.Fatal(err)
	}
	u.NeverReplaces = fresh
	if _, err := u.Write(content); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUploadWhoseResponseIsLost makes the store create the object but, twice, close the connection
// without a response. The first request for the object's metadata fails, too.
func TestUploadWhoseResponseIsLost(t *testing.T) {
	s := remotetest.Start(t)
	for _, size := range []int{0, 100, remote.MinPart + 1} {
		for _, fresh := range []bool{false, true} {
			content := bytes.Repeat([]byte{byte(size), 1}, size)[:size]
			u := startUpload(t, content, fresh)
			lost, asked := remotetest.Unanswered(2, remotetest.Completes), new(atomic.Int64)
			s.Wrap(func(next http.Handler) http.Handler {
				return lost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodHead && asked.Add(1) == 1 {
						http.Error(w, "slow down", http.StatusServiceUnavailable)
						return
					}
					next.ServeHTTP(w, r)
				}))
			})
			if err := u.Commit(t.Context(), -1); err != nil {
				t.Errorf("%d bytes, new %v: %v", size, fresh, err)
			}
			s.Wrap(nil)
			if size > 0 && asked.Load() != 2 {
				t.Errorf("%d bytes, new %v: asked %d times for the object", size, fresh, asked.Load())
			}
			if got, left := s.Get("o"), s.Unfinished(); got == nil || !bytes.Equal(got, content) || len(left) > 0 {
				t.Errorf(
					"%d bytes, new %v: the object has %d, uploads of %v are left over",
					size,
					fresh,
					len(got),
					left,
				)
			}
			if err := s.Delete("o"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestUploadThatIsStillBeingCompleted loses the response to the first request to complete an upload. The store answers
// the second one with success while it still works on the first one, as versitygw does.
func TestUploadThatIsStillBeingCompleted(t *testing.T) {
	s := remotetest.Start(t)
	for _, test := range []struct {
		name          string
		old           []byte // object with the same name
		isCancelled   bool   // before the object appears
		wantsComplete bool
	}{
		{name: "new", wantsComplete: true},
		{name: "replaces", old: []byte("old"), wantsComplete: true},
		{name: "cancelled", isCancelled: true},
	} {
		if test.old == nil {
			s.Delete("o")
		} else if err := s.Put("o", test.old); err != nil {
			t.Fatal(err)
		}
		u := startUpload(t, []byte("new"), false)
		ctx, cancel := context.WithCancel(t.Context())
		var completions, asked int
		var complete func()
		s.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch completes := r.Method == http.MethodPost; {
				case completes && completions == 0:
					completions++
					body, _ := io.ReadAll(r.Body)
					first := r.Clone(t.Context())
					first.Body = io.NopCloser(bytes.NewReader(body))
					complete = func() { next.ServeHTTP(httptest.NewRecorder(), first) }
					panic(http.ErrAbortHandler)
				case completes:
					completions++
					const success = "<CompleteMultipartUploadResult><Bucket>b</Bucket></CompleteMultipartUploadResult>"
					io.WriteString(w, success)
				case r.Method == http.MethodHead:
					asked++
					next.ServeHTTP(w, r)
					if test.isCancelled {
						cancel()
					} else if asked == 2 {
						complete()
					}
				default:
					next.ServeHTTP(w, r)
				}
			})
		})
		err := u.Commit(ctx, -1)
		cancel()
		s.Wrap(nil)
		isComplete := string(s.Get("o")) == "new"
		if isComplete != test.wantsComplete || (err == nil) != test.wantsComplete || completions != 2 {
			t.Errorf("%s: complete %v after %d requests, %v", test.name, isComplete, completions, err)
		}
	}
}

// TestUploadOfASlowStore copies a part and completes an upload while the time in which other
// responses must begin is too short for any.
func TestUploadOfASlowStore(t *testing.T) {
	s := remotetest.Start(t)
	content := []byte("content")
	if err := s.Put("from", content); err != nil {
		t.Fatal(err)
	}
	from, err := driver{}.Open(t.Context(), remotetest.S3("from"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := beginUpload(t.Context(), remotetest.S3("o"))
	if err != nil {
		t.Fatal(err)
	}
	before := transport.ResponseHeaderTimeout
	transport.ResponseHeaderTimeout = time.Nanosecond
	defer func() { transport.ResponseHeaderTimeout = before }()
	tag, err := m.Copy(t.Context(), 1, from, 0, from.Size)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Complete(t.Context(), []string{tag}, false); err != nil || !bytes.Equal(s.Get("o"), content) {
		t.Error(err)
	}
}

// TestUploadIsNotTakenForAnother aborts an upload while another upload creates an object with the
// same name and bytes.
func TestUploadIsNotTakenForAnother(t *testing.T) {
	s := remotetest.Start(t)
	content := []byte("content")
	m, err := beginUpload(t.Context(), remotetest.S3("o"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (driver{}).Forget(t.Context(), remotetest.S3("o")); err != nil {
		t.Fatal(err)
	}
	for _, missing := range []bool{true, false} {
		if err := m.Complete(t.Context(), []string{"tag"}, false); !errors.Is(err, remote.ErrGone) {
			t.Errorf("the object is missing %v: %v", missing, err)
		}
		if err := startUpload(t, content, false).Commit(t.Context(), -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := startUpload(t, content, true).Commit(t.Context(), -1); !errors.Is(err, remote.ErrExists) {
		t.Errorf("there is an object: %v", err)
	}
	if left := s.Unfinished(); len(left) > 0 {
		t.Errorf("uploads of %v are left over", left)
	}
}

// TestUploadIsSentAgainWhenItWasDamaged changes a byte of the first part in transit.
func TestUploadIsSentAgainWhenItWasDamaged(t *testing.T) {
	s := remotetest.Start(t)
	content := bytes.Repeat([]byte("content"), remote.MinPart/4)
	var parts atomic.Int64
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && parts.Add(1) == 1 {
				damaged, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				damaged[1000] ^= 1
				r.Body = io.NopCloser(bytes.NewReader(damaged))
			}
			next.ServeHTTP(w, r)
		})
	})
	err := startUpload(t, content, false).Commit(t.Context(), -1)
	if err != nil || !bytes.Equal(s.Get("o"), content) || parts.Load() != 3 {
		t.Errorf("%d parts were sent, %v", parts.Load(), err)
	}
}

// TestUploadIsRefusedEarly makes the store refuse each part once, before it reads the part. The
// memory of a part is then reused immediately.
func TestUploadIsRefusedEarly(t *testing.T) {
	s := remotetest.Start(t)
	content := make([]byte, 4*remote.MinPart)
	rand.NewChaCha8([32]byte{}).Read(content)
	var parts atomic.Int64
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && parts.Add(1)%2 == 1 {
				http.Error(w, "slow down", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	err := startUpload(t, content, false).Commit(t.Context(), -1)
	if err != nil || !bytes.Equal(s.Get("o"), content) || parts.Load() < 8 {
		t.Errorf("%d parts were sent, %v", parts.Load(), err)
	}
	b := &partReader{part: bytes.NewReader(content)}
	if n, err := b.Read(make([]byte, 10)); n != 10 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	b.detach()
	if n, err := b.Read(make([]byte, 10)); n != 0 || err != io.EOF {
		t.Errorf("%d bytes are read at the end, %v", n, err)
	}
}
