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

// Open opens a remote file and reads its first bytes. Cancelling ctx also ends later reads.
func (driver) Open(ctx context.Context, name string) (*remote.Object, error) {
	if scheme, _, _ := strings.Cut(name, "://"); scheme == "http" || scheme == "https" {
		return remote.NewObject(ctx, remote.WithoutSecrets(name), httpGetter(name))
	}
	get, err := s3Getter(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return remote.NewObject(ctx, name, get)
}

// transport uses HTTP/1.1, so that concurrent requests use separate connections instead of sharing
// one flow-control window. Setting DialContext keeps Go from negotiating HTTP/2.
var transport = &http.Transport{
	Proxy:                 http.ProxyFromEnvironment,
	DialContext:           (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
	MaxIdleConnsPerHost:   64,
	IdleConnTimeout:       90 * time.Second,
	TLSHandshakeTimeout:   15 * time.Second,
	ResponseHeaderTimeout: time.Minute,
	DisableCompression:    true, // offsets count the stored bytes
	ReadBufferSize:        64 << 10,
}

var client = &http.Client{Transport: transport}

// patient is transport without a limit of the time until a response begins.
var patient = func() *http.Transport {
	t := transport.Clone()
	t.ResponseHeaderTimeout = 0
	return t
}()

// byDuration sends the requests to a store. If a store copies data to complete an upload, or copies
// an object, its response may not begin before the copy is complete. Only the context limits the
// time of such a request.
type byDuration struct{}

func (byDuration) RoundTrip(r *http.Request) (*http.Response, error) {
	completes := r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
	copies := r.Header.Get("X-Amz-Copy-Source") != ""
	if completes || copies {
		return patient.RoundTrip(r)
	}
	return transport.RoundTrip(r)
}

func httpGetter(name string) remote.Getter {
	return func(ctx context.Context, first, end int64, tag string) (*remote.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, name, nil)
		if err != nil {
			return nil, backoff.Permanent(errors.New("it is not a valid URL"))
		}
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
		// If-Match never matches a weak tag, so it is sent only with a strong one. ReadAt compares
		// the tag of every response anyway.
		if strings.HasPrefix(tag, `"`) {
			request.Header.Set("If-Match", tag)
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, markPermanent(err)
		}
		if response.StatusCode == http.StatusPartialContent {
			return newResponse(response.Header, response.Body, first)
		}
		response.Body.Close()
		isRefused := response.StatusCode == http.StatusRequestedRangeNotSatisfiable
		isEmpty := response.StatusCode == http.StatusOK && response.ContentLength == 0 ||
			isRefused && response.Header.Get("Content-Range") == "bytes */0"
		if isEmpty || isRefused && tag != "" {
			return nil, outOfRange(tag)
		}
		return nil, statusError(response.StatusCode)
	}
}

// newResponse returns the response to a request for the bytes from offset first on. If the response
// begins elsewhere, or at the end of the object, it closes body and returns an error.
func newResponse(header http.Header, body io.ReadCloser, first int64) (*remote.Response, error) {
	r := &remote.Response{Body: body, Tag: cmp.Or(header.Get("ETag"), header.Get("Last-Modified"))}
	var from, to int64
	_, err := fmt.Sscanf(header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &r.Size)
	if err != nil || from != first || r.Size <= first {
		body.Close()
		return nil, backoff.Permanent(remote.ErrNoRanges)
	}
	return r, nil
}

// outOfRange returns the error for a range that does not exist. tag is the tag with which the
// object was opened, or "" if it is being opened.
func outOfRange(tag string) error {
	if tag == "" {
		return backoff.Permanent(remote.ErrEmpty)
	}
	return backoff.Permanent(remote.ErrChanged)
}

// statusError returns the error for a response whose status is not 206 Partial Content. Some servers refuse a range
// that ends after the end of the file.
func statusError(status int) error {
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	switch {
	case status == http.StatusOK, status == http.StatusRequestedRangeNotSatisfiable:
		return backoff.Permanent(remote.ErrNoRanges)
	case status == http.StatusPreconditionFailed:
		return backoff.Permanent(remote.ErrChanged)
	case status == http.StatusNotFound:
		return backoff.Permanent(fmt.Errorf("no such file (%s)", text))
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return backoff.Permanent(
			fmt.Errorf("access denied (%s): is the URL complete, and still valid?", text),
		)
	case transient(status):
		return fmt.Errorf("the server answers %s", text)
	}
	return backoff.Permanent(fmt.Errorf("the server answers %s", text))
}

// transient reports whether a request that failed with this status may succeed later.
func transient(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// markPermanent marks network errors that retries cannot fix: an unknown host or an invalid
// certificate.
func markPermanent(err error) error {
	missing, ok := errors.AsType[*net.DNSError](err)
	if ok && missing.IsNotFound {
		return backoff.Permanent(fmt.Errorf("no such host: %s", missing.Name))
	}
	if strings.Contains(err.Error(), "tls: failed to verify certificate") {
		return backoff.Permanent(remote.WithoutURL(err))
	}
	return err
}
