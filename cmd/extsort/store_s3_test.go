//go:build s3

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

// storeEnv is how many MiB are sorted in a store that is no test's own; .ci/long sets it.
const storeEnv = "EXTSORT_TEST_STORE"

const partBytes = 16 << 20 // of a copy

// TestStore sorts objects of versitygw, a server of S3 over a folder, where it is installed: once directly, and once
// while requests are dropped, late, or answered 503. The bytes are those of a local sort, and the memory limit holds.
func TestStore(t *testing.T) {
	mebibytes, _ := strconv.Atoi(os.Getenv(storeEnv))
	size := strconv.Itoa(max(mebibytes, 64)) + "M"
	s := newStore(t)
	dir := t.TempDir()
	mustRun(t, dir, "gen", "-t", "u64", "--size", size, "-o", "keys")
	mustRun(t, dir, "gen", "-t", "u64", "--size", size, "-o", "s3://bucket/keys")
	mustRun(t, dir, "-t", "u64", "-S", "256M", "-o", "sorted", "keys")
	start := time.Now()
	s.copy(t, "keys", "copied")
	copied := time.Since(start)
	for _, test := range []struct {
		name     string
		disturbs func(http.Handler) http.Handler
	}{
		{"undisturbed", nil},
		{"disturbed", disturbed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.disturbs != nil {
				proxy := httptest.NewServer(test.disturbs(s.proxy()))
				defer proxy.Close()
				t.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
			}
			const limit = 192 << 20
			cmd := exec.Command("extsort", "-t", "u64", "-S", strconv.Itoa(limit), "-o", "s3://bucket/out",
				"s3://bucket/keys")
			cmd.Dir = dir
			start := time.Now()
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			took := time.Since(start)
			if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; most > limit {
				t.Errorf("%d MiB were used", most>>20)
			}
			t.Logf("%s took %.1f s, and %.1f s to be copied by 16 requests at a time: %.2f of that rate", size,
				took.Seconds(), copied.Seconds(), copied.Seconds()/took.Seconds())
			compare := exec.Command("cmp", filepath.Join(s.folder, "out"), filepath.Join(dir, "sorted"))
			if said, err := compare.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// store is a server of S3 with one bucket, whose objects are the files of a folder.
type store struct {
	url    *url.URL
	folder string
	core   *minio.Core
}

func newStore(t *testing.T) *store {
	t.Helper()
	server, err := exec.LookPath("versitygw")
	if err != nil {
		t.Skip("versitygw is not installed")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &store{url: &url.URL{Scheme: "http", Host: listener.Addr().String()}}
	listener.Close()
	dir := t.TempDir()
	s.folder = filepath.Join(dir, "data", "bucket")
	for _, folder := range []string{s.folder, filepath.Join(dir, "beside")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(server, "--access", "a-key", "--secret", "a-secret", "--port", s.url.Host, "--quiet", "posix",
		"--sidecar", filepath.Join(dir, "beside"), filepath.Join(dir, "data"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_S3": s.url.String(), "AWS_ACCESS_KEY_ID": "a-key",
		"AWS_SECRET_ACCESS_KEY": "a-secret", "AWS_REGION": "us-east-1"} {
		t.Setenv(name, value)
	}
	s.core, err = minio.NewCore(s.url.Host, &minio.Options{Creds: credentials.NewEnvAWS(), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = s.core.BucketExists(t.Context(), "bucket"); err == nil {
			return s
		}
		if time.Now().After(until) {
			t.Fatalf("%v: %s", err, said.String())
		}
	}
}

// proxy passes requests on as they are signed.
func (s *store) proxy() http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = s.url.Scheme, s.url.Host, r.In.Host
	}}
}

// disturbed answers 503, breaks off, also when it has completed an upload, and has every tenth request wait.
func disturbed(next http.Handler) http.Handler {
	unreliable := remotetest.Unreliable()(remotetest.Unanswered(2, remotetest.Completes)(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.N(10) == 0 {
			time.Sleep(rand.N(300 * time.Millisecond))
		}
		unreliable.ServeHTTP(w, r)
	})
}

// copy reads an object and writes another, 16 parts at a time, by what extsort does it with.
func (s *store) copy(t *testing.T, from, to string) {
	t.Helper()
	info, err := s.core.Client.StatObject(t.Context(), "bucket", from, minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.core.NewMultipartUpload(t.Context(), "bucket", to, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]minio.CompletePart, (info.Size+partBytes-1)/partBytes)
	all, ctx := errgroup.WithContext(t.Context())
	all.SetLimit(16)
	for i := range parts {
		all.Go(func() (err error) {
			parts[i], err = s.copyPart(ctx, from, to, id, int64(i)*partBytes, min(partBytes, info.Size-int64(i)*partBytes))
			return err
		})
	}
	if err = all.Wait(); err == nil {
		_, err = s.core.CompleteMultipartUpload(t.Context(), "bucket", to, id, parts, minio.PutObjectOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *store) copyPart(ctx context.Context, from, to, id string, off, n int64) (part minio.CompletePart, err error) {
	var opt minio.GetObjectOptions
	if err := opt.SetRange(off, off+n-1); err != nil {
		return part, err
	}
	body, _, _, err := s.core.GetObject(ctx, "bucket", from, opt)
	if err != nil {
		return part, err
	}
	defer body.Close()
	data := make([]byte, n)
	if _, err := io.ReadFull(body, data); err != nil {
		return part, fmt.Errorf("%s at %d: %w", from, off, err)
	}
	number := int(off/partBytes) + 1
	sent, err := s.core.PutObjectPart(ctx, "bucket", to, id, number, bytes.NewReader(data), n,
		minio.PutObjectPartOptions{})
	return minio.CompletePart{PartNumber: number, ETag: sent.ETag}, err
}
