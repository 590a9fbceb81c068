//go:build s3

package input

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/remote/remotetest"
	_ "github.com/extsort/extsort/remote/s3" // registers the driver
)

// TestRemoteInputsAreOpenedTogether answers no request before the maximum number of requests is
// in progress. The inputs, and the errors for missing ones, must be in order nevertheless.
func TestRemoteInputsAreOpenedTogether(t *testing.T) {
	s := remotetest.Start(t)
	var names []string
	for i := range 2*plan.RemoteRequests + 1 {
		name := fmt.Sprintf("%03d", i)
		if err := s.Put(name, make([]byte, 8*i)); err != nil {
			t.Fatal(err)
		}
		names = append(names, remotetest.S3(name))
	}
	s.Wrap(remotetest.Together(plan.RemoteRequests))
	kind := Kind{Spec: format.Spec{Type: "u64"}}
	all, err := Open(t.Context(), kind, Named(names...), nil, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range all {
		if in.Records != int64(i) || in.Name != names[i] {
			t.Errorf("input %d is %s with %d records", i, in.Name, in.Records)
		}
	}
	if all, most := s.Requests.Load(), s.MaxConcurrent.Load(); all != int64(len(names)) || most != plan.RemoteRequests {
		t.Errorf("%d requests, %d at a time, of %d inputs", all, most, len(names))
	}
	if err := errors.Join(s.Delete("003"), s.Delete("050"), joinErrors(all, (*Input).Close)); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), kind, Named(names...), nil, 1<<20)
	want := names[3] + ": no such object\n" + names[50] + ": no such object"
	if err == nil || strings.TrimSpace(err.Error()) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
