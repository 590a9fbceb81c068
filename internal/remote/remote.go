// Package remote reads objects of stores that speak S3, and files of HTTP servers, by ranges, and writes objects in
// parts. What was opened is read as it was then: a change is an error. Requests that fail for a while are sent again.
//
// The requests themselves are sent by a Driver. Package remote/s3 registers one when it is imported, so that programs
// which sort only local files link neither an S3 client nor net/http.
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
	stores  = []string{"s3", "gs"} // by their schemes
	servers = []string{"http", "https"}
)

// Is reports whether a name stands for an object or a file elsewhere.
func Is(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (slices.Contains(stores, scheme) || slices.Contains(servers, scheme))
}

// SameStore reports whether two objects are in one store, which can copy what one has to the other.
func SameStore(a, b string) bool {
	scheme, _, _ := strings.Cut(a, "://")
	return slices.Contains(stores, scheme) && strings.HasPrefix(b, scheme+"://")
}

// Writable reports what cannot be written.
func Writable(name string) error {
	if scheme, _, _ := strings.Cut(name, "://"); slices.Contains(servers, scheme) {
		return fmt.Errorf("create output %s: extsort cannot write to a web server: name a local file, or "+
			"s3://BUCKET/KEY",
			Shown(name))
	}
	return nil
}

// Shown is a name without what may be secret: user and password, and the query, which may have a signature.
func Shown(name string) string {
	scheme, _, _ := strings.Cut(name, "://")
	if !slices.Contains(servers, scheme) {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return scheme + "://…"
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// WithoutURL returns an error without the URL of its request, which contains the secrets that Shown leaves out.
func WithoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// UnavailableError is that of a request which was sent as often as it is worth it, and may succeed later.
type UnavailableError struct{ error }

func (e *UnavailableError) Unwrap() error { return e.error }

const (
	firstPause = 100 * time.Millisecond // between two attempts; the next ones are longer
	maxPause   = 10 * time.Second

	openTries = 5  // within two seconds, since the name may be mistaken
	tries     = 10 // within a minute
)

// attemptTime is what one request may take. It is a variable for tests.
var attemptTime = 2 * time.Minute

// retry sends a request until it succeeds, fails for good (backoff.Permanent), or has failed too often.
func retry(ctx context.Context, tries uint, send func(ctx context.Context) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, 2, maxPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
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

// RetryOpening sends a request of an object that is being opened or created. It gives up after two seconds, because the
// name may be mistaken.
func RetryOpening(ctx context.Context, send func(ctx context.Context) error) error {
	return retry(ctx, openTries, send)
}
