package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/extsort/extsort/internal/remote"
)

// Open opens what is elsewhere under a name, and reads its first bytes. Reading ends when ctx is cancelled.
func (driver) Open(ctx context.Context, name string) (*remote.Object, error) {
	if scheme, _, _ := strings.Cut(name, "://"); scheme == "http" || scheme == "https" {
		return remote.NewObject(ctx, remote.Shown(name), httpGetter(name))
	}
	get, err := s3Getter(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return remote.NewObject(ctx, name, get)
}

// transport speaks HTTP/1.1, where every request that is on its way has a connection of its own: they do not share
// the window of one. That is so since it has a DialContext, and does not ask for HTTP/2.
var transport = &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
	MaxIdleConnsPerHost:   64,
	IdleConnTimeout:       90 * time.Second,
	TLSHandshakeTimeout:   15 * time.Second,
	ResponseHeaderTimeout: time.Minute,
	DisableCompression:    true, // bytes are counted as they are stored
	ReadBufferSize:        64 << 10,
}

var client = &http.Client{Transport: transport}

func httpGetter(name string) remote.Getter {
	return func(ctx context.Context, first, end int64, tag string) (*remote.Answer, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
		if err != nil {
			return nil, backoff.Permanent(errors.New("it is not a valid URL"))
		}
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
		if strings.HasPrefix(tag, `"`) { // a weak one never matches, and the answer's is compared in any case
			request.Header.Set("If-Match", tag)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, lasting(err)
		}
		if response.StatusCode == http.StatusPartialContent {
			return answerOf(response.Header, response.Body, first)
		}
		response.Body.Close()
		empty := response.StatusCode == http.StatusOK && response.ContentLength == 0
		if empty || response.StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return nil, outOfRange(tag)
		}
		return nil, statusError(response.StatusCode)
	}
}

// answerOf is what came by the header of an answer.
func answerOf(header http.Header, body io.ReadCloser, first int64) (*remote.Answer, error) {
	a := &remote.Answer{Body: body, Tag: cmp.Or(header.Get("ETag"), header.Get("Last-Modified"))}
	var from, to int64
	_, err := fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &a.Size)
	if err != nil || from != first {
		body.Close()
		return nil, backoff.Permanent(remote.ErrNoRanges)
	}
	return a, nil
}

// outOfRange is why there are no bytes at a place where there were some when the object was opened with that tag.
func outOfRange(tag string) error {
	if tag == "" {
		return backoff.Permanent(remote.ErrEmpty)
	}
	return backoff.Permanent(remote.ErrChanged)
}

// statusError is the error of an answer that has no bytes.
func statusError(status int) error {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusOK:
		return backoff.Permanent(remote.ErrNoRanges)
	case status == http.StatusPreconditionFailed:
		return backoff.Permanent(remote.ErrChanged)
	case status == http.StatusNotFound:
		return backoff.Permanent(fmt.Errorf("no such file (%s)", text))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return backoff.Permanent(fmt.Errorf("access denied (%s): is the URL complete, and still valid?", text))
	case transient(status):
		return fmt.Errorf("the server answers %s", text)
	}
	return backoff.Permanent(fmt.Errorf("the server answers %s", text))
}

// transient reports whether a request with that answer may succeed later.
func transient(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// lasting marks an error of the network that will not go away: there is no such host, or its certificate is not good.
func lasting(err error) error {
	missing, ok := errors.AsType[*net.DNSError](err)
	if ok && missing.IsNotFound {
		return backoff.Permanent(fmt.Errorf("no such host: %s", missing.Name))
	}
	if strings.Contains(err.Error(), "tls: failed to verify certificate") {
		return backoff.Permanent(remote.WithoutURL(err))
	}
	return err
}
