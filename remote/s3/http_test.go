package s3

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/extsort/extsort/internal/remote"
)

// TestRefusedRange opens files on servers that refuse the first range. A file counts as empty only if the server says
// so.
func TestRefusedRange(t *testing.T) {
	for _, row := range []struct {
		status int
		has    string // Content-Range
		want   error
	}{
		{http.StatusOK, "", nil},
		{http.StatusRequestedRangeNotSatisfiable, "bytes */0", nil},
		{http.StatusRequestedRangeNotSatisfiable, "bytes */1000", remote.ErrNoRanges},
		{http.StatusRequestedRangeNotSatisfiable, "", remote.ErrNoRanges},
		{http.StatusPartialContent, "bytes 0-9/-5", remote.ErrNoRanges},
		{http.StatusPartialContent, "bytes 0-0/0", remote.ErrNoRanges},
		{http.StatusPartialContent, "bytes 1-9/10", remote.ErrNoRanges},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if row.has != "" {
				w.Header().Set("Content-Range", row.has)
			}
			w.Header().Set("Content-Length", "0")
			w.Header().Set("ETag", `"1"`)
			w.WriteHeader(row.status)
		}))
		o, err := driver{}.Open(t.Context(), server.URL+"/file")
		if !errors.Is(err, row.want) || err == nil && o.Size != 0 {
			t.Errorf("%d %s: %v, %v", row.status, row.has, o, err)
		}
		server.Close()
	}
}
