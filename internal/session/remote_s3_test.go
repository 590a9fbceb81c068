//go:build s3

package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/remote/remotetest"
	"github.com/extsort/extsort/internal/testfiles"
	_ "github.com/extsort/extsort/remote/s3" // registers the driver
)

// remoteRecords returns 16-byte records with 8-byte keys in random order.
func remoteRecords(t testing.TB, n int64, seed uint64) []byte {
	t.Helper()
	spec := format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
	header := formattest.Header(t, spec)
	g := formattest.Generator(t, header.Layout(), "few", seed, n)
	data := make([]byte, n*16)
	g.Fill(data, 0)
	return data
}

// sortedLocally returns the output of a sort of local files.
func sortedLocally(t *testing.T, opt Options, inputs ...[]byte) []byte {
	t.Helper()
	for i, content := range inputs {
		name := testfiles.Temp(t, fmt.Sprint(i), content)
		opt.Inputs = append(opt.Inputs, name)
	}
	var out bytes.Buffer
	opt.Stdout = &out
	if _, err := Sort(t.Context(), opt); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRemoteSorts sorts objects and files with each strategy. The server sometimes answers 503 or
// breaks the connection.
func TestRemoteSorts(t *testing.T) {
	server := remotetest.Start(t)
	a, b := remoteRecords(t, 200_000, 1), remoteRecords(t, 50_001, 2)
	if err := errors.Join(server.Put("a", a), server.Put("folder/b", b)); err != nil {
		t.Fatal(err)
	}
	local := testfiles.Temp(t, "b", b)
	record := format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
	want := sortedLocally(t, Options{Record: record}, a, b)
	server.Wrap(remotetest.Unreliable())
	defer server.Wrap(nil)
	for _, test := range []struct {
		name   string
		opt    Options
		second string
	}{
		{"in core", Options{}, remotetest.S3("folder/b")},
		{"merge", Options{Strategy: MergeRuns, faults: faults{chunkRecords: 60_000}}, server.HTTP("folder/b")},
		{"partition", Options{Strategy: Partition, faults: faults{chunkRecords: 60_000}}, local},
		{"reread", Options{Strategy: Reread, faults: faults{chunkRecords: 60_000}}, local},
	} {
		t.Run(test.name, func(t *testing.T) {
			opt := test.opt
			opt.Inputs, opt.Record, opt.TempDirs = []string{remotetest.S3("a"), test.second}, record, []string{t.TempDir()}
			opt.MemoryBytes, opt.Workers, opt.Verify = 64<<20, 4, true
			opt.Output = remotetest.S3("out/" + test.name)
			if _, err := Sort(t.Context(), opt); err != nil {
				t.Fatal(err)
			}
			if got := server.Get("out/" + test.name); !bytes.Equal(got, want) {
				t.Errorf("the object has %d bytes that are not those of a local sort, %d", len(got), len(want))
			}
		})
	}
}

// TestRemoteIsReadOnce counts the bytes that a server sends to a sort that spills, and to a sort
// of ordered data.
func TestRemoteIsReadOnce(t *testing.T) {
	server := remotetest.Start(t)
	record := format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
	data := remoteRecords(t, 1<<20, 3)
	sorted := sortedLocally(t, Options{Record: record}, data)
	if err := errors.Join(server.Put("data", data), server.Put("sorted", sorted)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"data", "sorted"} {
		server.Bytes.Store(0)
		var out bytes.Buffer
		opt := Options{Inputs: []string{server.HTTP(name)}, Record: record, Stdout: &out, MemoryBytes: 256 << 20,
			TempDirs: []string{t.TempDir()}, faults: faults{chunkRecords: 100_000}}
		if _, err := Sort(t.Context(), opt); err != nil || !bytes.Equal(out.Bytes(), sorted) {
			t.Fatalf("%s: %v", name, err)
		}
		// The sample reads 512 bytes at each of 512 positions.
		if sent := server.Bytes.Load(); sent > int64(len(data))*13/10 {
			t.Errorf("%s: %d bytes were sent of an input of %d", name, sent, len(data))
		}
	}
}

// TestLateAnswer delays the first records until nearly all others were read. Only the section of
// the input that contains them waits.
func TestLateAnswer(t *testing.T) {
	server := remotetest.Start(t)
	record := format.Spec{RecordSize: 16, Keys: []string{"0:u64"}}
	data := remoteRecords(t, 1<<20, 8)
	if err := server.Put("data", data); err != nil {
		t.Fatal(err)
	}
	sorted := sortedLocally(t, Options{Record: record}, data)
	var late atomic.Bool
	server.Wrap(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if first, last := rangeOf(r); first == 0 && last-first > 8<<10 {
				late.Store(true)
				for server.Bytes.Load() < int64(len(data))*3/4 {
					if r.Context().Err() != nil || t.Context().Err() != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}
			next.ServeHTTP(w, r)
		})
	})
	defer server.Wrap(nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	_, err := Sort(ctx, Options{Inputs: []string{remotetest.S3("data")}, Record: record, Stdout: &out, Workers: 1,
		MemoryBytes: 32 << 20, Strategy: Partition, TempDirs: []string{t.TempDir()}, faults: faults{chunkRecords: 100_000}})
	if err != nil || !bytes.Equal(out.Bytes(), sorted) || !late.Load() {
		t.Errorf("%d bytes, %v; a request was late: %v", out.Len(), err, late.Load())
	}
}

// rangeOf returns the offsets of the first and the last byte that a request asks for.
func rangeOf(r *http.Request) (first, last int64) {
	fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
	return first, last
}

// TestRemoteChange checks that an input that changes while it is read is refused, without an
// output.
func TestRemoteChange(t *testing.T) {
	server := remotetest.Start(t)
	old, changed := remoteRecords(t, 1<<18, 4), remoteRecords(t, 1<<18, 5)
	for _, name := range []string{remotetest.S3("in"), server.HTTP("in")} {
		if err := server.Put("in", old); err != nil {
			t.Fatal(err)
		}
		var change sync.Once
		server.Wrap(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				// The requests of the sample are small. The first larger request changes the
				// object. The others wait for the change.
				if first, last := rangeOf(r); last-first > 8<<10 {
					change.Do(func() {
						if err := server.Put("in", changed); err != nil {
							t.Error(err)
						}
					})
				}
				next.ServeHTTP(w, r)
			})
		})
		out := filepath.Join(t.TempDir(), "out")
		_, err := Sort(t.Context(), Options{
			Inputs:      []string{name},
			Record:      format.Spec{RecordSize: 16, Keys: []string{"0:u64"}},
			Output:      out,
			MemoryBytes: 32 << 20,
		})
		if err == nil || !strings.Contains(err.Error(), "changed while it was being read") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: there is an output", name)
		}
		server.Wrap(nil)
	}
}
