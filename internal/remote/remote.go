// Package remote reads objects in S3 stores and files on HTTP servers with range requests, and
// writes objects in parts. If a file changes while it is open, reading it fails. Requests that fail
// temporarily are sent again.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Driver sends the actual requests. Package remote/s3 registers one when it is imported, so
// that programs that sort only local files link neither an S3 client nor net/http.
package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

var (
	stores  = []string{"s3", "gs"} // by scheme
	servers = []string{"http", "https"}
)

// IsURL reports whether a name refers to a remote object or file.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (slices.Contains(stores, scheme) || slices.Contains(servers, scheme))
}

// SameStore reports whether two objects are in the same store, which can then copy between them.
func SameStore(a, b string) bool {
	scheme, _, _ := strings.Cut(a, "://")
	return slices.Contains(stores, scheme) && strings.HasPrefix(b, scheme+"://")
}

// Writable returns an error if the name cannot be written.
func Writable(name string) error {
	if scheme, _, _ := strings.Cut(name, "://"); slices.Contains(servers, scheme) {
		return fmt.Errorf(
			"create output %s: extsort cannot write to a web server: name a local file, or "+
				"s3://BUCKET/KEY",
			WithoutSecrets(name),
		)
	}
	return nil
}

// WithoutSecrets returns a name without possible secrets: user, password, and the query, which may
// contain a signature.
func WithoutSecrets(name string) string {
	scheme, _, _ := strings.Cut(name, "://")
	if !slices.Contains(servers, scheme) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return scheme + "://…"
	}
	u.User = nil
	u.Fragment = ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// WithoutURL returns an error without the URL of its request, which may contain secrets.
func WithoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// An UnavailableError reports a request that failed repeatedly and may succeed later.
type UnavailableError struct{ error }

func (e *UnavailableError) Unwrap() error { return e.error }

const (
	firstPause = 100 * time.Millisecond // between two attempts; later pauses are longer
	maxPause   = 10 * time.Second

	openTries = 5  // within two seconds, because the name may be wrong
	tries     = 10 // within a minute
)

// attemptTime limits the time of one request. It is a variable for tests. copyTime limits the time of
// one for which the store may have to copy all data.
var attemptTime = 2 * time.Minute

const copyTime = time.Hour

// retry sends a request until it succeeds, fails permanently (backoff.Permanent), or has failed
// too often.
func retry(ctx context.Context, tries uint, send func(ctx context.Context) error) error {
	return retryFor(ctx, attemptTime, tries, send)
}

// retryFor is retry with a limit of the time of one request.
func retryFor(ctx context.Context, limit time.Duration, tries uint, send func(ctx context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = firstPause
	pauses.Multiplier = 2
	pauses.MaxInterval = maxPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		attempt, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return struct{}{}, send(attempt)
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(tries))
	if permanent, ok := errors.AsType[*backoff.PermanentError](err); ok {
		return WithoutURL(permanent.Unwrap()) // of the last attempt
	}
	if err == nil || ctx.Err() != nil {
		return WithoutURL(err)
	}
	return &UnavailableError{WithoutURL(err)}
}

// RetryOpening sends a request that opens or creates an object. It gives up after two seconds,
// because the name may be wrong.
func RetryOpening(ctx context.Context, send func(ctx context.Context) error) error {
	return retry(ctx, openTries, send)
}
