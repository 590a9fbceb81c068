//go:build s3

package main

import (
	"bytes"
	"encoding/json"
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
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

// storeEnv names the variable with the number of MiB to sort in an external store. .ci/long sets
// it.
const storeEnv = "EXTSORT_TEST_STORE"

// TestStore sorts objects of versitygw, an S3 server for a directory, if it is installed: once
// directly, and once with requests that are dropped, delayed, or answered with 503. The result
// must equal that of a local sort, and the memory limit must hold.
func TestStore(t *testing.T) {
	mebibytes, _ := strconv.Atoi(os.Getenv(storeEnv))
	size := strconv.Itoa(max(mebibytes, 64)) + "M"
	s := newStore(t)
	dir := t.TempDir()
	mustRun(t, dir, "gen", "-t", "u64", "--size", size, "-o", "keys")
	mustRun(t, dir, "gen", "-t", "u64", "--size", size, "-o", "s3://bucket/keys")
	mustRun(t, dir, "-t", "u64", "-S", "256M", "-o", "sorted", "keys")
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
			limit := max(192<<20, mebibytes<<20/8)
			cmd := exec.Command("extsort", "-t", "u64", "-S", strconv.Itoa(limit), "--stats=json:report.json",
				"-o", "s3://bucket/out", "s3://bucket/keys")
			cmd.Dir = dir
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			var report struct {
				PeakMemory int64 `json:"peak_memory"`
			}
			if err := json.Unmarshal(readFile(t, dir, "report.json"), &report); err != nil || report.PeakMemory == 0 ||
				report.PeakMemory > int64(limit) {
				t.Errorf("%d MiB were used, %v", report.PeakMemory>>20, err)
			}
			compare := exec.Command("cmp", filepath.Join(s.folder, "out"), filepath.Join(dir, "sorted"))
			if said, err := compare.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// store is an S3 server with one bucket, whose objects are the files of a directory.
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

// proxy forwards signed requests unchanged.
func (s *store) proxy() http.Handler {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = s.url.Scheme, s.url.Host, r.In.Host
	}}
}

// disturbed answers 503, drops connections, even after completing an upload, and delays every
// tenth request.
func disturbed(next http.Handler) http.Handler {
	unreliable := remotetest.Unreliable()(remotetest.Unanswered(2, remotetest.Completes)(next))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rand.N(10) == 0 {
			time.Sleep(rand.N(300 * time.Millisecond))
		}
		unreliable.ServeHTTP(w, r)
	})
}
