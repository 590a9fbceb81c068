package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/extsort/extsort/internal/remote"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// A location is an object in a store.
type location struct {
	core        *minio.Core
	bucket, key string
}

// locate parses a name such as s3://BUCKET/KEY. The environment determines the store for s3://.
func locate(name string) (l location, err error) {
	scheme, path, _ := strings.Cut(name, "://")
	l.bucket, l.key, _ = strings.Cut(path, "/")
	if l.bucket == "" || l.key == "" {
		return l, fmt.Errorf("the name of an object is %s://BUCKET/KEY", scheme)
	}
	endpoint := "https://storage.googleapis.com"
	if scheme == "s3" {
		endpoint = cmp.Or(
			os.Getenv("AWS_ENDPOINT_URL_S3"),
			os.Getenv("AWS_ENDPOINT_URL"),
			"https://s3.amazonaws.com",
		)
	}
	l.core, err = clientFor(endpoint)
	return l, err
}

// clients contains one client per endpoint. A client caches its credentials and the regions of
// buckets.
var (
	clients   = map[string]*minio.Core{}
	clientsMu sync.Mutex
)

// clientFor returns the client for an endpoint.
func clientFor(endpoint string) (*minio.Core, error) {
	clientsMu.Lock()
	defer clientsMu.Unlock()
	if known := clients[endpoint]; known != nil {
		return known, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(
			"AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is not a URL such as https://HOST",
		)
	}
	core, err := minio.NewCore(u.Host, &minio.Options{
		Creds: findCredentials(), Secure: u.Scheme == "https", Transport: byDuration{}, MaxRetries: 1,
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, err
	}
	clients[endpoint] = core
	return core, nil
}

// findCredentials looks for credentials in the environment, in a file, and in the metadata service
// of the machine, and returns the first it finds. If it finds none, it returns anonymous
// credentials, because otherwise every request would repeat the search.
func findCredentials() *credentials.Credentials {
	near := transport.Clone() // a metadata service responds at once or does not exist
	near.DialContext = (&net.Dialer{Timeout: time.Second}).DialContext
	found := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Transport: near, Timeout: 5 * time.Second}},
	})
	if value, err := found.GetWithContext(nil); err != nil || value.AccessKeyID == "" {
		return credentials.NewStatic("", "", "", credentials.SignatureAnonymous)
	}
	return found
}

// s3Getter returns the function that requests ranges of an object.
func s3Getter(name string) (remote.Getter, error) {
	l, err := locate(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, first, end int64, tag string) (*remote.Response, error) {
		var opt minio.GetObjectOptions
		opt.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
		if tag != "" {
			opt.Set("If-Match", tag)
		}
		body, _, header, err := l.core.GetObject(ctx, l.bucket, l.key, opt)
		if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return nil, outOfRange(tag)
		}
		if err != nil {
			return nil, l.explain(err)
		}
		return newResponse(header, body, first)
	}, nil
}

// explain converts an error of a store to a message for the user. It marks errors that retries
// cannot fix as permanent, and returns nil for nil.
func (l *location) explain(err error) error {
	if err == nil {
		return nil
	}
	response, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return markPermanent(err)
	}
	switch {
	case response.Code == minio.NoSuchKey:
		err = remote.ErrMissing
	case response.Code == minio.NoSuchBucket:
		err = fmt.Errorf("no such bucket: %s", l.bucket)
	case response.Code == minio.NoSuchUpload:
		err = remote.ErrGone
	case response.Code == minio.PreconditionFailed:
		err = remote.ErrChanged
	case response.Code == "ConditionalRequestConflict", // another upload is being completed
		response.Code == "XAmzContentSHA256Mismatch": // the part was damaged in transit
		return errors.New(response.Message)
	case response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized:
		err = l.denied(response.Code)
	case transient(response.StatusCode):
		return fmt.Errorf("the store answers %d %s", response.StatusCode, response.Code)
	default:
		err = fmt.Errorf("the store answers %s: %s", response.Code, response.Message)
	}
	return backoff.Permanent(err)
}

// denied returns the error for denied access. The message suggests a remedy.
func (l *location) denied(code string) error {
	used, err := l.core.GetCreds()
	switch {
	case err != nil || used.AccessKeyID == "":
		return errors.New("access denied: no credentials were found: set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	case code == minio.AccessDenied:
		return errors.New("access denied: the credentials that were found do not allow it")
	}
	return fmt.Errorf("access denied: the store refuses the credentials that were found (%s)", code)
}

// A multipart is an upload to a store.
type multipart struct {
	location
	id    string
	token string // random; identifies the object of this upload

	isRepeated bool // a request to complete the upload was sent before
}

// tokenHeader is the name of the token in the metadata of the object, in the form of http.Header.
const tokenHeader = "Extsort-Upload"

// Create starts the upload of an object in parts of part bytes, with up to parallel concurrent
// requests. Cancelling ctx ends the upload.
func (driver) Create(ctx context.Context, name string, part, parallel int) (*remote.Upload, error) {
	if err := remote.Writable(name); err != nil {
		return nil, err
	}
	m, err := beginUpload(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("create output %s: %w", remote.WithoutSecrets(name), err)
	}
	return remote.NewUpload(ctx, name, m, part, parallel), nil
}

// beginUpload starts a multipart upload.
func beginUpload(ctx context.Context, name string) (*multipart, error) {
	l, err := locate(name)
	if err != nil {
		return nil, err
	}
	m := &multipart{location: l, token: rand.Text()}
	err = remote.RetryOpening(ctx, func(ctx context.Context) (err error) {
		opt := minio.PutObjectOptions{UserMetadata: m.metadata()}
		m.id, err = l.core.NewMultipartUpload(ctx, l.bucket, l.key, opt)
		return l.explain(err)
	})
	return m, err
}

// Put sends a part. The request contains the checksum of the part, so the store refuses damaged
// data.
func (m *multipart) Put(ctx context.Context, number int, part []byte) (tag string, err error) {
	sum := sha256.Sum256(part)
	body := &partReader{part: bytes.NewReader(part)}
	defer body.detach()
	sent, err := m.core.PutObjectPart(ctx, m.bucket, m.key, m.id, number, body, int64(len(part)),
		minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(
			sum[:],
		), DisableContentSha256: true})
	return sent.ETag, m.explain(err)
}

// A partReader reads the memory of a part. If a response arrives before the whole part has been
// sent, the HTTP client may continue to read the part. detach prevents that, so that the memory can
// be reused.
type partReader struct {
	mu   sync.Mutex
	part *bytes.Reader
}

func (r *partReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.part.Read(p)
}

func (r *partReader) Seek(offset int64, whence int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.part.Seek(offset, whence)
}

// detach makes later reads return io.EOF.
func (r *partReader) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part.Reset(nil)
}

// Copy makes the store copy a range of another object into a part.
func (m *multipart) Copy(
	ctx context.Context, number int, from *remote.Object, first, end int64,
) (tag string, err error) {
	source, err := locate(from.Name)
	if err != nil {
		return "", backoff.Permanent(err)
	}
	part, err := m.core.CopyObjectPart(
		ctx,
		source.bucket,
		source.key,
		m.bucket,
		m.key,
		m.id,
		number,
		first,
		end-first,
		map[string]string{"x-amz-copy-source-if-match": from.Tag},
	)
	if err == nil && part.ETag == "" { // the response reported an error after its status line
		err = errors.New("the store did not copy it")
	}
	return part.ETag, source.explain(err)
}

func (m *multipart) metadata() map[string]string { return map[string]string{tokenHeader: m.token} }

// Complete makes the object appear.
func (m *multipart) Complete(ctx context.Context, tags []string, fresh bool) error {
	var opt minio.PutObjectOptions
	if fresh {
		opt.SetMatchETagExcept("*")
	}
	err := m.checkObject(ctx, m.complete(ctx, tags, opt))
	m.isRepeated = true
	switch {
	case errors.Is(err, remote.ErrChanged):
		return backoff.Permanent(remote.ErrExists)
	case err == nil && len(tags) == 0:
		return remote.WithoutURL(m.Abort(ctx)) // the object was created without the upload
	}
	return err
}

// checkObject returns the error of an attempt to complete the upload. If an earlier attempt may have
// succeeded although its response was lost, the token of the object shows whether it did: if the
// store reports that the upload no longer exists, or that the object already exists, and also if it
// reports success, because some stores do so while they still work on the earlier attempt.
func (m *multipart) checkObject(ctx context.Context, err error) error {
	if err == nil && m.isRepeated {
		return m.awaitObject(ctx)
	}
	if errors.Is(err, remote.ErrGone) || errors.Is(err, remote.ErrChanged) {
		own, failed := m.hasAppeared(ctx)
		if own || failed != nil && !isPermanent(failed) {
			return failed
		}
	}
	return err
}

// awaitObject waits until the object of this upload has appeared. It relies on the store's report
// of success if reading the metadata of the object is not permitted.
func (m *multipart) awaitObject(ctx context.Context) error {
	const maxPause = 5 * time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, maxPause) {
		own, err := m.hasAppeared(ctx)
		switch {
		case own:
			return nil
		case errors.Is(err, remote.ErrMissing):
		case isPermanent(err):
			return nil
		case err != nil:
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("the store reported success, but the object did not appear: %w", context.Cause(ctx))
		}
	}
}

// hasAppeared reports whether the object exists and was created by this upload.
func (m *multipart) hasAppeared(ctx context.Context) (bool, error) {
	found, err := m.core.StatObject(ctx, m.bucket, m.key, minio.StatObjectOptions{})
	return err == nil && found.UserMetadata[tokenHeader] == m.token, m.explain(err)
}

// isPermanent reports whether retries cannot fix an error.
func isPermanent(err error) bool {
	_, permanent := errors.AsType[*backoff.PermanentError](err)
	return permanent
}

// complete combines the parts into an object. A multipart upload needs at least one part, so
// without parts, complete puts an empty object instead.
func (m *multipart) complete(ctx context.Context, tags []string, opt minio.PutObjectOptions) (err error) {
	if len(tags) == 0 {
		opt.DisableContentSha256 = true
		opt.UserMetadata = m.metadata()
		_, err = m.core.PutObject(ctx, m.bucket, m.key, bytes.NewReader(nil), 0, "", "", opt)
		return m.explain(err)
	}
	parts := make([]minio.CompletePart, len(tags))
	for i, tag := range tags {
		parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: tag}
	}
	_, err = m.core.CompleteMultipartUpload(ctx, m.bucket, m.key, m.id, parts, opt)
	return m.explain(err)
}

// Abort discards the parts. An upload that no longer exists is not an error.
func (m *multipart) Abort(ctx context.Context) error {
	err := m.core.AbortMultipartUpload(ctx, m.bucket, m.key, m.id)
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		return nil
	}
	return err
}

// Forget aborts incomplete uploads of all names that begin with prefix.
func (driver) Forget(ctx context.Context, prefix string) error {
	l, err := locate(prefix)
	if err == nil {
		err = remote.RetryOpening(ctx, func(ctx context.Context) (err error) {
			for found := range l.core.ListIncompleteUploads(ctx, l.bucket, l.key, true) {
				one := &multipart{location: location{
					l.core,
					l.bucket,
					found.Key,
				}, id: found.UploadID}
				err = errors.Join(err, cmp.Or(found.Err, one.Abort(ctx)))
			}
			return l.explain(err)
		})
	}
	if err != nil {
		err = fmt.Errorf("abort unfinished uploads of %s…: %w", prefix, err)
	}
	return err
}
