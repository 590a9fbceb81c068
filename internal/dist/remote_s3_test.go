//go:build s3

package dist

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/remote/remotetest"
	"github.com/extsort/extsort/internal/testfiles"
	_ "github.com/extsort/extsort/remote/s3" // registers the driver
)

// stored puts the inputs into a store. One is read as an object, the other as a file of a web
// server.
func stored(t *testing.T, s *remotetest.Server) func(r *Request) {
	return func(r *Request) {
		for i, name := range []string{"a.bin", "b.bin"} {
			if err := s.Put(name, testfiles.Read(t, r.Inputs[i])); err != nil {
				t.Fatal(err)
			}
		}
		r.Inputs = []string{remotetest.S3("a.bin"), s.HTTP("b.bin")}
	}
}

// TestRemoteInputs sorts objects from a store that sometimes answers 503 or drops the connection.
func TestRemoteInputs(t *testing.T) {
	s := remotetest.Start(t)
	c := newCluster(t, pairs, "zipf", 100_003, stored(t, s))
	s.Wrap(remotetest.Unreliable())
	c.all(3)
	c.check()
}

// TestRemoteInputsArePlannedByOneRequestEach counts the requests.
func TestRemoteInputsArePlannedByOneRequestEach(t *testing.T) {
	s := remotetest.Start(t)
	c := newCluster(t, numbers, "uniform", 30_000, stored(t, s))
	s.Requests.Store(0)
	p, err := CreatePlan(t.Context(), t.TempDir(), c.req)
	if c.ok(err); s.Requests.Load() != 2 {
		t.Errorf("%d requests for %d inputs", s.Requests.Load(), len(p.Inputs))
	}
}

// TestRemoteInputThatChangedIsRefused replaces an object with another one of the same size,
// before and during a run.
func TestRemoteInputThatChangedIsRefused(t *testing.T) {
	s := remotetest.Start(t)
	c := newCluster(t, numbers, "uniform", 30_000, stored(t, s))
	c.ok(c.Run(t.Context(), partOf(0, 8)))
	changed := s.Get("b.bin")
	changed[0] ^= 1
	c.ok(s.Put("b.bin", changed))
	err := c.Run(t.Context(), partOf(7, 8))
	refused(t, err, "b.bin: has changed since the plan was made, from 160000 bytes of")
	if retry := (*RetryError)(nil); errors.As(err, &retry) {
		t.Errorf("%v is worth no other try", err)
	}
}

// TestRemoteThatIsDownIsWorthAnotherTry uses a store that always answers 503, so that the state
// of tasks is unknown.
func TestRemoteThatIsDownIsWorthAnotherTry(t *testing.T) {
	s := remotetest.Start(t)
	c := newCluster(t, numbers, "uniform", 10_000, func(r *Request) {
		stored(t, s)(r)
		toStore(r)
	})
	c.ok(c.Run(t.Context(), partOf(1, 2)))
	c.ok(c.Run(t.Context(), partOf(0, 2)))
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	c.ok(c.Merge(t.Context(), partOf(0, 8)))
	c.ok(os.Remove(c.Plan.runFile(0)))
	s.Wrap(func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "slow down", http.StatusServiceUnavailable)
		})
	})
	_, unknown := c.Plan.Status(t.Context())
	for _, err := range []error{c.Run(t.Context(), partOf(0, 8)), c.Merge(t.Context(), partOf(0, 8)), unknown} {
		if !errors.As(err, new(*RetryError)) || !strings.Contains(err.Error(), "503") {
			t.Errorf("error %v", err)
		}
	}
}

// toStore makes the parts objects of a store.
func toStore(r *Request) { r.Output = remotetest.S3("sorted") }

// checkObjects compares the objects with the output of a single machine and checks that nothing
// is left over.
func (c *cluster) checkObjects(s *remotetest.Server) {
	c.t.Helper()
	var got []byte
	for k := range c.Plan.Parts {
		got = append(got, s.Get("sorted/part-"+taskDigits(k))...)
	}
	if !bytes.Equal(got, c.want) {
		c.t.Errorf("%d bytes are not the %d that one machine makes", len(got), len(c.want))
	}
	var joined bytes.Buffer
	s.Wrap(remotetest.Together(int64(c.Plan.Parts))) // they are opened at the same time
	c.ok(c.Plan.Cat(c.t.Context(), &joined))
	s.Wrap(nil)
	if !bytes.Equal(joined.Bytes(), c.want) {
		c.t.Errorf("cat gives %d other bytes", joined.Len())
	}
	for _, name := range s.Unfinished() {
		c.t.Errorf("an upload of %s is left over", name)
	}
}

// TestRemoteOutputIsThatOfOneMachine has objects as parts, some of them without records.
func TestRemoteOutputIsThatOfOneMachine(t *testing.T) {
	for _, records := range []int64{100_003, 5} {
		s := remotetest.Start(t)
		c := newCluster(t, pairs, "zipf", records, toStore)
		s.Wrap(remotetest.Unreliable())
		c.all(3)
		c.all(2) // there is nothing left to do
		s.Wrap(nil)
		c.checkObjects(s)
		status, err := c.Plan.Status(t.Context())
		if c.ok(err); !status.Complete {
			t.Errorf("status %+v", status)
		}
	}
}

// merged returns a plan whose runs are cut, so that they can be merged.
func merged(t *testing.T) (*remotetest.Server, *cluster) {
	s := remotetest.Start(t)
	c := newCluster(t, pairs, "zipf", 40_000, toStore)
	c.ok(c.Run(t.Context(), partOf(0, 1)))
	c.ok(c.Cut(t.Context(), partOf(0, 1)))
	return s, c
}

// TestRemoteTwoAttemptsAtOnce merges the parts three times at the same time.
func TestRemoteTwoAttemptsAtOnce(t *testing.T) {
	s, c := merged(t)
	s.Wrap(remotetest.DelayResponses(time.Millisecond))
	var group sync.WaitGroup
	for range 3 {
		w := c.worker()
		group.Go(func() {
			if err := w.Merge(t.Context(), partOf(0, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	_, err := c.Verify(t.Context(), false)
	c.ok(err)
	c.checkObjects(s)
}

// TestRemoteStragglerEndsWell lets another attempt merge and verify all parts while one is about
// to be completed.
func TestRemoteStragglerEndsWell(t *testing.T) {
	s, c := merged(t)
	held, verified, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	var once sync.Once
	s.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
				once.Do(func() {
					close(held)
					<-verified
				})
			}
			next.ServeHTTP(w, r)
		})
	})
	w := c.worker()
	go func() { ended <- w.Merge(t.Context(), partOf(0, 1)) }()
	<-held
	s.Wrap(nil)
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	_, err := c.Verify(t.Context(), true)
	c.ok(err)
	close(verified)
	if err = <-ended; err != nil && !errors.As(err, new(*RetryError)) {
		t.Errorf("error %v is worth another try", err)
	}
	c.checkObjects(s)
}

// TestRemoteKilledAttemptsLeaveNothing simulates attempts that are killed during an upload, or
// before they write their record.
func TestRemoteKilledAttemptsLeaveNothing(t *testing.T) {
	s, c := merged(t)
	for k := range 2 {
		name, _ := c.Plan.partFile(k)
		u, err := remote.Create(t.Context(), name, remote.MinPart, 2)
		c.ok(err)
		_, err = u.Write(make([]byte, remote.MinPart))
		c.ok(err)
	}
	c.ok(c.Merge(t.Context(), partOf(1, 8)))
	c.ok(os.Remove(c.Plan.recordFile(parts, 1)))
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	var refused sync.Map
	s.Wrap(func(next http.Handler) http.Handler { // the first request of each kind fails
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, again := refused.LoadOrStore(r.Method+r.URL.RawQuery, true); !again {
				http.Error(w, "slow down", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	_, err := c.Verify(t.Context(), false)
	s.Wrap(nil)
	c.ok(err)
	c.checkObjects(s)
}

// TestRemoteLostAnswersAreNotReadBack makes the store complete uploads but drop the connection
// instead of answering.
func TestRemoteLostAnswersAreNotReadBack(t *testing.T) {
	s, c := merged(t)
	lost, read := remotetest.Unanswered(3, remotetest.Completes), new(atomic.Int64)
	s.Wrap(func(next http.Handler) http.Handler {
		return lost(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				read.Add(1)
			}
			next.ServeHTTP(w, r)
		}))
	})
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	s.Wrap(nil)
	if read.Load() > 0 {
		t.Errorf("objects were read by %d requests", read.Load())
	}
	_, err := c.Verify(t.Context(), false)
	c.ok(err)
	c.checkObjects(s)
}

// TestRemoteObjectsOfOthersAreKept has other objects with the names of parts.
func TestRemoteObjectsOfOthersAreKept(t *testing.T) {
	s, c := merged(t)
	theirs := []byte("sixteen bytes...")
	c.ok(s.Put("sorted/part-00003", theirs))
	refused(t, c.Merge(t.Context(), partOf(0, 1)), "part-00003: does not contain the records that were written ("+
		"an older file: remove it)")
	if got := s.Get("sorted/part-00003"); !bytes.Equal(got, theirs) {
		t.Errorf("the object is now %q", got)
	}
	_, err := CreatePlan(t.Context(), t.TempDir(), c.req)
	refused(t, err, "sorted/part-00000: already exists")
	_, err = CreatePlan(t.Context(), c.folder, c.req)
	c.ok(err)
}

// TestRemoteLostObjectIsMadeAgain removes an object and damages another one.
func TestRemoteLostObjectIsMadeAgain(t *testing.T) {
	s, c := merged(t)
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	c.ok(s.Delete("sorted/part-00005"))
	s.Wrap(remotetest.Together(int64(c.Plan.Parts)))
	status, err := c.Plan.Status(t.Context())
	s.Wrap(nil)
	if c.ok(err); Ranges(status.Left) != "5" {
		t.Errorf("status %+v", status)
	}
	c.ok(c.Merge(t.Context(), partOf(0, 1)))
	_, err = c.Verify(t.Context(), false)
	c.ok(err)
	c.checkObjects(s)
	damaged := s.Get("sorted/part-00002")
	damaged[15] ^= 1
	c.ok(s.Put("sorted/part-00002", damaged))
	refused(t, c.ReadBack(t.Context(), partOf(0, 1)), "does not contain the records that were written (remove ")
}

// TestRemoteCat joins parts into one object: small ones by reading, large ones by copying within
// the store, and files.
func TestRemoteCat(t *testing.T) {
	for _, test := range []struct {
		name    string
		records int64
		change  func(r *Request)
		copied  bool
	}{
		{"small objects", 50_003, toStore, false},
		{"large objects", 1<<20 + 1, func(r *Request) { toStore(r); r.Runs, r.Parts = 2, 3 }, true},
		{"one file", 50_003, func(r *Request) { r.OneFile = true }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := remotetest.Start(t)
			c := newCluster(t, pairs, "zipf", test.records, test.change)
			c.all(2)
			s.Wrap(remotetest.Unreliable())
			s.Bytes.Store(0)
			c.ok(c.Plan.CatTo(t.Context(), remotetest.S3("whole")))
			copied, here := s.Copied.Load(), s.Bytes.Load()
			var joined bytes.Buffer
			c.ok(c.Plan.Cat(t.Context(), &joined))
			s.Wrap(nil)
			if !bytes.Equal(s.Get("whole"), c.want) || !bytes.Equal(joined.Bytes(), c.want) {
				t.Error("the object, or what comes here, is not what one machine makes")
			}
			if (copied == int64(len(c.want))) != test.copied || test.copied && here > 1<<17 {
				t.Errorf("%d bytes of %d were copied in the store, %d came here", copied, len(c.want), here)
			}
			if left := s.Unfinished(); len(left) > 0 {
				t.Errorf("uploads of %v are left over", left)
			}
		})
	}
}
