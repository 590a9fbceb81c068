//go:build s3

package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

// storeEnv names the variable with the number of MiB to sort in an external store. .ci/long sets
// it.
const storeEnv = "EXTSORT_TEST_STORE"

const partBytes = 16 << 20 // size of the parts of a copy

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
			s := s
			if test.disturbs != nil {
				proxy := httptest.NewServer(test.disturbs(s.proxy()))
				defer proxy.Close()
				t.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
				s = s.through(t, proxy.URL)
			}
			usual := s.timedCopy(t, "a copy by 4 requests at a time, as mc makes it", 4, false)
			copied := s.timedCopy(t, "one by 16 requests at a time", 16, false)
			whole := s.timedCopy(t, "one by 16 that reads all before it writes", 16, true)
			limit := max(192<<20, mebibytes<<20/8)
			cmd := exec.Command("extsort", "-t", "u64", "-S", strconv.Itoa(limit), "--stats=json:report.json",
				"-o", "s3://bucket/out", "s3://bucket/keys")
			cmd.Dir = dir
			start, servers := time.Now(), processorSeconds(t, s.process)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			took, used := time.Since(start), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
			var report struct {
				PeakMemory int64 `json:"peak_memory"`
				Phases     []struct {
					Name    string
					Seconds float64
				}
			}
			if err := json.Unmarshal(readFile(t, dir, "report.json"), &report); err != nil || report.PeakMemory == 0 ||
				report.PeakMemory > int64(limit) {
				t.Errorf("%d MiB were used, %v", report.PeakMemory>>20, err)
			}
			t.Logf(
				"%s took %.1f s, %.2f, %.2f and %.2f of the rates of the copies, %.1f s of processors, and %.1f s of "+
					"those of the store",
				size,
				took.Seconds(),
				usual/took.Seconds(),
				copied/took.Seconds(),
				whole/took.Seconds(),
				used.Seconds(),
				processorSeconds(t, s.process)-servers,
			)
			t.Logf("seconds of its phases: %v", report.Phases)
			compare := exec.Command("cmp", filepath.Join(s.folder, "out"), filepath.Join(dir, "sorted"))
			if said, err := compare.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}

// processorSeconds returns the CPU seconds that a process has used.
func processorSeconds(t *testing.T, process string) float64 {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + process + "/stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if err != nil || len(fields) < 13 {
		t.Fatalf("%v: %s", err, stat)
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return float64(user+system) / 100 // ticks of 10 ms, also on other architectures
}

// store is an S3 server with one bucket, whose objects are the files of a directory.
type store struct {
	url     *url.URL
	folder  string
	process string // process number
	core    *minio.Core
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
	s.process = strconv.Itoa(cmd.Process.Pid)
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

// through returns the store as seen through a proxy.
func (s *store) through(t *testing.T, proxy string) *store {
	t.Helper()
	by := *s
	var err error
	by.core, err = minio.NewCore(strings.TrimPrefix(proxy, "http://"),
		&minio.Options{Creds: credentials.NewEnvAWS(), Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	return &by
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

// timedCopy copies the keys and returns the seconds.
func (s *store) timedCopy(t *testing.T, what string, streams int, whole bool) float64 {
	t.Helper()
	start, own, servers := time.Now(), processorSeconds(t, "self"), processorSeconds(t, s.process)
	s.copy(t, "keys", "copied", streams, whole)
	took := time.Since(start).Seconds()
	t.Logf("%s takes %.1f s, %.1f s of processors, and %.1f s of those of the store", what, took,
		processorSeconds(t, "self")-own, processorSeconds(t, s.process)-servers)
	return took
}

// copy reads an object and writes another, with several parts at a time, with the code that extsort
// uses. If whole is true, it first reads the whole object to a file, as a sort must.
func (s *store) copy(t *testing.T, from, to string, streams int, whole bool) {
	t.Helper()
	info, err := s.core.Client.StatObject(t.Context(), "bucket", from, minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.core.NewMultipartUpload(t.Context(), "bucket", to, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "whole"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	parts := make([]minio.CompletePart, (info.Size+partBytes-1)/partBytes)
	each := func(do func(ctx context.Context, i int, part []byte, off int64) error) {
		all, ctx := errgroup.WithContext(t.Context())
		all.SetLimit(streams)
		for i := range parts {
			off := int64(i) * partBytes
			all.Go(func() (err error) {
				part := make([]byte, min(partBytes, info.Size-off))
				for range 20 { // as many attempts as a disturbed store may need
					if err = do(ctx, i, part, off); err == nil || ctx.Err() != nil {
						break
					}
				}
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	read := func(ctx context.Context, _ int, part []byte, off int64) error { return s.read(ctx, from, part, off) }
	send := func(ctx context.Context, i int, part []byte, _ int64) (err error) {
		parts[i], err = s.send(ctx, to, id, i+1, part)
		return err
	}
	if whole {
		each(func(ctx context.Context, i int, part []byte, off int64) error {
			err := read(ctx, i, part, off)
			if err == nil {
				_, err = file.WriteAt(part, off)
			}
			return err
		})
		read = func(_ context.Context, _ int, part []byte, off int64) error {
			_, err := file.ReadAt(part, off)
			return err
		}
	}
	each(func(ctx context.Context, i int, part []byte, off int64) error {
		if err := read(ctx, i, part, off); err != nil {
			return err
		}
		return send(ctx, i, part, off)
	})
	_, err = s.core.CompleteMultipartUpload(t.Context(), "bucket", to, id, parts, minio.PutObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *store) read(ctx context.Context, from string, part []byte, off int64) error {
	var opt minio.GetObjectOptions
	if err := opt.SetRange(off, off+int64(len(part))-1); err != nil {
		return err
	}
	body, _, _, err := s.core.GetObject(ctx, "bucket", from, opt)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.ReadFull(body, part); err != nil {
		return fmt.Errorf("%s at %d: %w", from, off, err)
	}
	return nil
}

func (s *store) send(ctx context.Context, to, id string, number int, part []byte) (minio.CompletePart, error) {
	sent, err := s.core.PutObjectPart(ctx, "bucket", to, id, number, bytes.NewReader(part), int64(len(part)),
		minio.PutObjectPartOptions{})
	return minio.CompletePart{PartNumber: number, ETag: sent.ETag}, err
}
