package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cenkalti/backoff/v5"

	"github.com/extsort/extsort/internal/blockio"
)

func TestShownHidesSecrets(t *testing.T) {
	for name, want := range map[string]string{
		"https://me:pass@host/a/b.bin?X-Amz-Signature=secret#x": "https://host/a/b.bin?…",
		"http://host/a":      "http://host/a",
		"https://ho st/?a=b": "https://…",
		"s3://bucket/a?b#c":  "s3://bucket/a?b#c",
	} {
		if got := WithoutSecrets(name); got != want {
			t.Errorf("%s is shown as %s, want %s", name, got, want)
		}
	}
	err := fmt.Errorf("failed: %w", &url.Error{Op: "Get", URL: "https://host/?secret", Err: errors.New("reset")})
	if WithoutURL(err).Error() != "reset" {
		t.Errorf("the error is %v", WithoutURL(err))
	}
}

func TestIs(t *testing.T) {
	for name, want := range map[string]bool{"s3://a/b": true, "gs://a/b": true, "https://a": true, "http://a": true,
		"s3:/a": false, "a/s3://b": false, "ftp://a": false, "-": false, "": false} {
		if IsURL(name) != want {
			t.Errorf("Is(%q) is %v", name, !want)
		}
	}
}

// holds is a Getter of an object that breaks off every answer after most bytes.
func holds(content []byte, most int, fault func(request int) error) Getter {
	var requests atomic.Int32
	return func(_ context.Context, first, end int64, tag string) (*Response, error) {
		if err := fault(int(requests.Add(1))); err != nil {
			return nil, err
		}
		part := content[first:min(end, int64(len(content)))]
		body := io.Reader(bytes.NewReader(part))
		if len(part) > most && first > 0 {
			body = io.MultiReader(bytes.NewReader(part[:most]), brokenReader{})
		}
		return &Response{io.NopCloser(body), int64(len(content)), "tag"}, nil
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestObjectGoesOnWhereAnAnswerBreaksOff(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789"), 10_000)
	o, err := NewObject(t.Context(), "o", holds(content, 7001, func(request int) error {
		if request%4 == 0 {
			return errors.New("503")
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{0, 1}, {0, 10}, {4090, 4100}, {5000, 25_000}, {99_999, 100_000}} {
		p := make([]byte, at[1]-at[0])
		if n, err := o.ReadAt(p, int64(at[0])); n != len(p) || err != nil || !bytes.Equal(p, content[at[0]:at[1]]) {
			t.Errorf("bytes %v: %d, %v", at, n, err)
		}
	}
	p := make([]byte, 10)
	if n, err := o.ReadAt(p, int64(len(content))-4); n != 4 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if n, err := o.ReadAt(p, int64(len(content))+4); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d, %v", n, err)
	}
}

func TestObjectThatChanged(t *testing.T) {
	content := make([]byte, 10_000)
	o, err := NewObject(t.Context(), "o", holds(content, 1<<20, func(int) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	o.Tag = "another"
	if _, err := o.ReadAt(make([]byte, 10), 5000); !errors.Is(err, ErrChanged) {
		t.Errorf("the error is %v", err)
	}
}

func TestObjectThatIsRefused(t *testing.T) {
	refused, requests := errors.New("access denied"), 0
	_, err := NewObject(t.Context(), "o", holds(nil, 0, func(int) error {
		requests++
		return backoff.Permanent(refused)
	}))
	if !errors.Is(err, refused) || requests != 1 || err.Error() != "o: access denied" {
		t.Errorf("%d requests: %v", requests, err)
	}
}

// keptStore is a store in memory.
type keptStore struct {
	mu      sync.Mutex
	parts   map[int][]byte
	content []byte
	aborted int
	fault   func(number int) error
}

func (k *keptStore) Put(_ context.Context, number int, part []byte) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.fault(number); err != nil {
		return "", err
	}
	k.parts[number] = bytes.Clone(part)
	return fmt.Sprint("tag", number), nil
}

func (k *keptStore) Copy(ctx context.Context, number int, from *Object, first, end int64) (string, error) {
	part := make([]byte, end-first)
	if _, err := from.ReadAt(part, first); err != nil && err != io.EOF {
		return "", err
	}
	return k.Put(ctx, number, part)
}

func (k *keptStore) Complete(_ context.Context, tags []string, _ bool) error {
	for i, tag := range tags {
		if tag != fmt.Sprint("tag", i+1) {
			return backoff.Permanent(fmt.Errorf("part %d has %s", i+1, tag))
		}
		k.content = append(k.content, k.parts[i+1]...)
	}
	return nil
}

func (k *keptStore) Abort(context.Context) error {
	k.aborted++
	return nil
}

func newKept(fault func(number int) error) *keptStore {
	return &keptStore{parts: map[int][]byte{}, fault: fault}
}

func TestUploadIsWhole(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 1000, 12_345} {
		failed := map[int]bool{}
		store := newKept(func(number int) error {
			if number%50 == 3 && !failed[number] {
				failed[number] = true
				return errors.New("503")
			}
			return nil
		})
		u := NewUpload(t.Context(), "o", store, 100, 3)
		content := []byte(strings.Repeat("abcdefghijklm", size)[:size])
		for i := 0; i < size; i += 37 {
			if _, err := u.Write(content[i:min(i+37, size)]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(u.Commit(t.Context(), -1), u.Abort()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(store.content, content) || store.aborted != 0 {
			t.Errorf("%d bytes: the object has %d, aborted %d times", size, len(store.content), store.aborted)
		}
	}
}

func TestUploadCopies(t *testing.T) {
	defer func(before int64) { copyBytes = before }(copyBytes)
	copyBytes = 1000
	content := bytes.Repeat([]byte("0123456789"), 1234)
	from, err := NewObject(t.Context(), "o", holds(content, 1<<20, func(int) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	store := newKept(func(int) error { return nil })
	u := NewUpload(t.Context(), "to", store, 100, 3)
	if err := errors.Join(u.Copy(from), u.Copy(from), u.Commit(t.Context(), -1)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(store.content, append(content, content...)) {
		t.Errorf("%d bytes of two times %d", len(store.content), len(content))
	}
	for number, part := range store.parts {
		if len(part) < 900 || len(part) > 1000 {
			t.Errorf("part %d has %d bytes", number, len(part))
		}
	}
}

// TestUploadBorrows lets no part go before as many are under way as there is memory for, of its own
// and lent.
func TestUploadBorrows(t *testing.T) {
	const part = 100
	for _, lent := range []int64{0, 4, 1000} {
		most := min(2+lent, maxParallel)
		content := bytes.Repeat([]byte("0123456789"), int(most)*20)
		var underWay, parts atomic.Int64
		all := make(chan bool)
		store := newKept(func(int) error { return nil })
		slow := &slowStore{keptStore: store, before: func() {
			if underWay.Add(1) > most {
				t.Error("more are under way than there is memory for")
			}
			if parts.Add(1) == most {
				close(all)
			}
			<-all
		}, after: func() { underWay.Add(-1) }}
		reads := blockio.NewPool(blockio.Options{Bytes: part, Reads: int(lent), FreeIdle: true})
		u := NewUpload(t.Context(), "o", slow, part, 2)
		u.Borrow(reads)
		if _, err := u.Write(content); err != nil {
			t.Fatal(err)
		}
		err := u.Commit(t.Context(), -1)
		if n, _, _ := reads.Used(); err != nil || !bytes.Equal(store.content, content) || n != 0 {
			t.Errorf("%v: %d bytes, and the memory of %d parts is still lent", err, len(store.content), n)
		}
	}
	reads := blockio.NewPool(blockio.Options{Bytes: part, Reads: 1000, FreeIdle: true})
	u := NewUpload(t.Context(), "o", newKept(func(int) error { return backoff.Permanent(errors.New("full")) }), part, 2)
	u.Borrow(reads)
	u.Borrow(nil)
	_, err := u.Write(make([]byte, 1050))
	err = errors.Join(err, u.Abort())
	if n, _, _ := reads.Used(); n != 0 {
		t.Errorf("%v: the memory of %d parts is still lent", err, n)
	}
}

// slowStore reports each part.
type slowStore struct {
	*keptStore
	before, after func()
}

func (s *slowStore) Put(ctx context.Context, number int, part []byte) (string, error) {
	s.before()
	defer s.after()
	return s.keptStore.Put(ctx, number, part)
}

func TestUploadFails(t *testing.T) {
	full := errors.New("quota exceeded")
	store := newKept(func(number int) error {
		if number == 5 {
			return backoff.Permanent(full)
		}
		return nil
	})
	u := NewUpload(t.Context(), "o", store, 100, 2)
	var err error
	for range 1000 {
		if _, err = u.Write(make([]byte, 90)); err != nil {
			break
		}
	}
	if !errors.Is(err, full) {
		t.Errorf("Write says %v", err)
	}
	if err = u.Commit(t.Context(), -1); !errors.Is(err, full) || store.aborted != 1 || store.content != nil {
		t.Errorf("Commit says %v, aborted %d times", err, store.aborted)
	}
}

func TestUploadIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	store := newKept(func(int) error { return nil })
	u := NewUpload(ctx, "o", store, 100, 2)
	if _, err := u.Write(make([]byte, 250)); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	cancel(stop)
	if err := u.Commit(t.Context(), -1); !errors.Is(err, stop) || store.aborted != 1 || store.content != nil {
		t.Errorf("Commit says %v, aborted %d times", err, store.aborted)
	}
}
