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

// place is an object of a store.
type place struct {
	core        *minio.Core
	bucket, key string
}

// placeOf finds the store that a name stands for.
func placeOf(name string) (p place, err error) {
	scheme, path, _ := strings.Cut(name, "://")
	p.bucket, p.key, _ = strings.Cut(path, "/")
	if p.bucket == "" || p.key == "" {
		return p, fmt.Errorf("the name of an object is %s://BUCKET/KEY", scheme)
	}
	endpoint := "https://storage.googleapis.com"
	if scheme == "s3" {
		endpoint = cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	}
	p.core, err = clientOf(endpoint)
	return p, err
}

var (
	clients   = map[string]*minio.Core{} // by endpoint: what they found out, as credentials, is kept
	clientsMu sync.Mutex
)

func clientOf(endpoint string) (*minio.Core, error) {
	clientsMu.Lock()
	defer clientsMu.Unlock()
	if known := clients[endpoint]; known != nil {
		return known, nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is not a URL such as https://HOST")
	}
	core, err := minio.NewCore(u.Host, &minio.Options{
		Creds: usualCredentials(), Secure: u.Scheme == "https", Transport: transport, MaxRetries: 1,
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")),
	})
	if err != nil {
		return nil, err
	}
	clients[endpoint] = core
	return core, nil
}

// usualCredentials are those of the environment, of a file, or of the machine: the first that there are. Where there
// are none, each request would look for them again.
func usualCredentials() *credentials.Credentials {
	near := transport.Clone() // who gives credentials to a machine answers at once, or is not there
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

func s3Getter(name string) (remote.Getter, error) {
	p, err := placeOf(name)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, first, end int64, tag string) (*remote.Answer, error) {
		var opt minio.GetObjectOptions
		opt.Set("Range", fmt.Sprintf("bytes=%d-%d", first, end-1))
		if tag != "" {
			opt.Set("If-Match", tag)
		}
		body, _, header, err := p.core.GetObject(ctx, p.bucket, p.key, opt)
		if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
			return nil, outOfRange(tag)
		}
		if err != nil {
			return nil, p.fault(err)
		}
		return answerOf(header, body, first)
	}, nil
}

// fault is an error of a store in the words of the user.
func (p *place) fault(err error) error {
	if err == nil {
		return nil
	}
	said, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return lasting(err)
	}
	switch {
	case said.Code == minio.NoSuchKey:
		err = remote.ErrMissing
	case said.Code == minio.NoSuchBucket:
		err = fmt.Errorf("no such bucket: %s", p.bucket)
	case said.Code == minio.NoSuchUpload:
		err = remote.ErrGone
	case said.Code == minio.PreconditionFailed:
		err = remote.ErrChanged
	case said.Code == "ConditionalRequestConflict", // another upload is about to be completed
		said.Code == "XAmzContentSHA256Mismatch": // it was damaged on its way
		return errors.New(said.Message)
	case said.StatusCode == http.StatusForbidden || said.StatusCode == http.StatusUnauthorized:
		err = p.denied(said.Code)
	case transient(said.StatusCode):
		return fmt.Errorf("the store answers %d %s", said.StatusCode, said.Code)
	default:
		err = fmt.Errorf("the store answers %s: %s", said.Code, said.Message)
	}
	return backoff.Permanent(err)
}

// denied says what to do where access was denied.
func (p *place) denied(code string) error {
	used, err := p.core.GetCreds()
	switch {
	case err != nil || used.AccessKeyID == "":
		return errors.New("access denied: no credentials were found: set AWS_ACCESS_KEY_ID and " +
			"AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	case code == minio.AccessDenied:
		return errors.New("access denied: the credentials that were found do not allow it")
	}
	return fmt.Errorf("access denied: the store refuses the credentials that were found (%s)", code)
}

// multipart is an upload to a store.
type multipart struct {
	place
	id   string
	sign string // what tells its object from all others: a random word of its metadata
}

// signName is the name of that word, as http.Header has it.
const signName = "Extsort-Upload"

// Create begins an object that is sent in parts of part bytes, up to parallel of them at a time. Sending ends when ctx
// is cancelled.
func (driver) Create(ctx context.Context, name string, part, parallel int) (*remote.Upload, error) {
	if err := remote.Writable(name); err != nil {
		return nil, err
	}
	m, err := begin(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("create output %s: %w", remote.Shown(name), err)
	}
	return remote.NewUpload(ctx, name, m, part, parallel), nil
}

// begin starts the upload of an object.
func begin(ctx context.Context, name string) (*multipart, error) {
	p, err := placeOf(name)
	if err != nil {
		return nil, err
	}
	m := &multipart{place: p, sign: rand.Text()}
	err = remote.RetryOpening(ctx, func(ctx context.Context) (err error) {
		m.id, err = p.core.NewMultipartUpload(ctx, p.bucket, p.key, minio.PutObjectOptions{UserMetadata: m.signed()})
		return p.fault(err)
	})
	return m, err
}

func (m *multipart) Put(ctx context.Context, number int, part []byte) (tag string, err error) {
	sum := sha256.Sum256(part) // which is signed, so that the store sees that all came as it was sent
	body := &body{part: bytes.NewReader(part)}
	defer body.end()
	sent, err := m.core.PutObjectPart(ctx, m.bucket, m.key, m.id, number, body, int64(len(part)),
		minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true})
	return sent.ETag, m.fault(err)
}

// body is what is sent. Where the answer comes before all of it has gone, it is read on, from memory that may be gone.
type body struct {
	mu   sync.Mutex
	part *bytes.Reader
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.part.Read(p)
}

func (b *body) Seek(offset int64, whence int) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.part.Seek(offset, whence)
}

// end has nothing read any more.
func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.part.Reset(nil)
}

func (m *multipart) Copy(
	ctx context.Context, number int, from *remote.Object, first, end int64,
) (tag string, err error) {
	p, err := placeOf(from.Name)
	if err != nil {
		return "", backoff.Permanent(err)
	}
	part, err := m.core.CopyObjectPart(ctx, p.bucket, p.key, m.bucket, m.key, m.id, number, first, end-first,
		map[string]string{"x-amz-copy-source-if-match": from.Tag})
	if err == nil && part.ETag == "" { // an error that came after the status
		err = errors.New("the store did not copy it")
	}
	return part.ETag, p.fault(err)
}

func (m *multipart) signed() map[string]string { return map[string]string{signName: m.sign} }

// complete makes the object. Where there is no upload any more, or an object where a new one was wanted, an attempt
// before this one may have made it, whose answer was lost.
func (m *multipart) Complete(ctx context.Context, tags []string, fresh bool) error {
	var opt minio.PutObjectOptions
	if fresh {
		opt.SetMatchETagExcept("*")
	}
	err := m.finish(ctx, tags, opt)
	if errors.Is(err, remote.ErrGone) || errors.Is(err, remote.ErrChanged) {
		if done, unknown := m.done(ctx); done || unknown != nil {
			err = unknown
		}
	}
	switch {
	case errors.Is(err, remote.ErrChanged):
		return backoff.Permanent(remote.ErrExists)
	case err == nil && len(tags) == 0:
		return remote.WithoutURL(m.Abort(ctx)) // which nobody has completed
	}
	return err
}

// done reports whether the object is that of this upload. What may not be asked, or is not there, is not.
func (m *multipart) done(ctx context.Context) (bool, error) {
	found, err := m.core.StatObject(ctx, m.bucket, m.key, minio.StatObjectOptions{})
	if err = m.fault(err); err != nil {
		if _, lasting := errors.AsType[*backoff.PermanentError](err); lasting {
			err = nil
		}
		return false, err
	}
	return found.UserMetadata[signName] == m.sign, nil
}

// finish makes an object of parts, or without any, as no upload may have it, an empty one.
func (m *multipart) finish(ctx context.Context, tags []string, opt minio.PutObjectOptions) (err error) {
	if len(tags) == 0 {
		opt.DisableContentSha256, opt.UserMetadata = true, m.signed()
		_, err = m.core.PutObject(ctx, m.bucket, m.key, bytes.NewReader(nil), 0, "", "", opt)
		return m.fault(err)
	}
	parts := make([]minio.CompletePart, len(tags))
	for i, tag := range tags {
		parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: tag}
	}
	_, err = m.core.CompleteMultipartUpload(ctx, m.bucket, m.key, m.id, parts, opt)
	return m.fault(err)
}

func (m *multipart) Abort(ctx context.Context) error {
	err := m.core.AbortMultipartUpload(ctx, m.bucket, m.key, m.id)
	if minio.ToErrorResponse(err).Code == minio.NoSuchUpload {
		return nil
	}
	return err
}

// Forget has the store give up uploads that are not complete, of all names that begin so.
func (driver) Forget(ctx context.Context, prefix string) error {
	p, err := placeOf(prefix)
	if err == nil {
		err = remote.RetryOpening(ctx, func(ctx context.Context) (err error) {
			for found := range p.core.ListIncompleteUploads(ctx, p.bucket, p.key, true) {
				one := &multipart{place: place{p.core, p.bucket, found.Key}, id: found.UploadID}
				err = errors.Join(err, cmp.Or(found.Err, one.Abort(ctx)))
			}
			return p.fault(err)
		})
	}
	if err != nil {
		err = fmt.Errorf("abort unfinished uploads of %s…: %w", prefix, err)
	}
	return err
}
