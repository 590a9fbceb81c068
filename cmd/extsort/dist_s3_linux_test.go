//go:build s3

package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

// plannedInStore makes a plan that sorts an object to objects in an existing store.
func plannedInStore(t *testing.T, size string) *distCase {
	d := planned(t, pairLayout, size, "-o", "out")
	for _, folder := range []string{"plan", "out"} {
		if err := os.RemoveAll(filepath.Join(d.dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(
		t,
		d.dir,
		append([]string{"gen", "--size", size, "--dist", "zipf", "-o", "s3://bucket/in"}, pairLayout...)...,
	)
	mustRun(t, d.dir, append([]string{"dist", "plan", "--runs", "8", "--parts", "4", "-o", "s3://bucket/out", "plan",
		"s3://bucket/in"}, pairLayout...)...)
	return d
}

// TestRemoteKilledTasksOfDist kills tasks whose inputs and parts are objects.
func TestRemoteKilledTasksOfDist(t *testing.T) {
	if testing.Short() {
		t.Skip("many tasks are killed and run again")
	}
	server := remotetest.Start(t)
	d := plannedInStore(t, "32M")
	d.killAll()
	d.check("out")
	if left := server.Unfinished(); len(left) > 0 {
		t.Errorf("uploads of %v are left over", left)
	}
}

// TestStoreOfDist does the same in versitygw, if that is installed, with disturbed requests, and
// joins the parts there.
func TestStoreOfDist(t *testing.T) {
	s := newStore(t)
	d := plannedInStore(t, "64M")
	proxy := httptest.NewServer(disturbed(s.proxy()))
	defer proxy.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	d.killAll()
	d.check("out")
	mustRun(t, d.dir, "dist", "cat", "-o", "s3://bucket/one", "plan")
	if got := readFile(t, s.folder, "one"); !bytes.Equal(got, d.want) {
		t.Errorf("%d bytes are not those of one machine", len(got))
	}
	for left := range s.core.ListIncompleteUploads(t.Context(), "bucket", "", true) {
		t.Errorf("an upload of %s is left over, %v", left.Key, left.Err)
	}
}
