package remotetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
)

// extended adds features of S3 that gofakes3 lacks: If-Match for reads and copies, If-None-Match for
// new objects, parts copied from other objects, and checksums of parts.
func (s *Server) extended(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/"+bucket+"/")
		query := r.URL.Query()
		upload := query.Get("uploadId")
		switch {
		case r.Method == http.MethodGet && !s.matches(name, r.Header.Get("If-Match")):
			preconditionFailed(w)
		case r.Method == http.MethodPost && query.Has("uploads"):
			s.begin(w, r, name, next)
		case r.Method == http.MethodDelete && upload != "":
			s.uploads.Delete(upload)
			next.ServeHTTP(w, r)
		case Completes(r):
			s.complete(w, r, name, next)
		case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
			s.copyPart(w, r, next)
		case r.Method == http.MethodPut && upload != "":
			putPart(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// matches reports whether an object has an ETag, quoted or not. Any object matches "", and a missing one any ETag.
func (s *Server) matches(name, tag string) bool {
	if tag == "" {
		return true
	}
	stored := s.store.tag(name)
	return stored == "" || stored == strings.Trim(tag, `"`)
}

func preconditionFailed(w http.ResponseWriter) {
	w.WriteHeader(http.StatusPreconditionFailed)
	fmt.Fprint(
		w,
		"<Error><Code>PreconditionFailed</Code><Message>the condition is not met</Message></Error>",
	)
}

// begin begins an upload and records its name.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, name string, next http.Handler) {
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	var begun struct{ UploadId string }
	if xml.Unmarshal(answer.Body.Bytes(), &begun) == nil && begun.UploadId != "" {
		s.uploads.Store(begun.UploadId, name)
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
}

// Unfinished returns the names of objects whose uploads were neither completed nor aborted.
func (s *Server) Unfinished() (names []string) {
	for _, name := range s.uploads.Range {
		names = append(names, name.(string))
	}
	return names
}

// complete creates an object. With If-None-Match it refuses to replace one.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, name string, next http.Handler) {
	s.completing.Lock()
	defer s.completing.Unlock()
	if r.Header.Get("If-None-Match") == "*" && s.store.tag(name) != "" {
		preconditionFailed(w)
		return
	}
	s.uploads.Delete(r.URL.Query().Get("uploadId"))
	next.ServeHTTP(w, r)
}

// putPart stores a part, unless its checksum differs from the signed one.
func putPart(w http.ResponseWriter, r *http.Request, next http.Handler) {
	part, err := io.ReadAll(r.Body)
	if sum := sha256.Sum256(
		part,
	); err != nil || r.Header.Get("X-Amz-Content-Sha256") != hex.EncodeToString(sum[:]) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(
			w,
			"<Error><Code>XAmzContentSHA256Mismatch</Code><Message>the part was damaged</Message></Error>",
		)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(part))
	next.ServeHTTP(w, r)
}

// copyPart stores a range of an object as a part.
func (s *Server) copyPart(w http.ResponseWriter, r *http.Request, next http.Handler) {
	source, err := url.PathUnescape(r.Header.Get("X-Amz-Copy-Source"))
	name := strings.TrimPrefix(source, bucket+"/")
	content := s.Get(name)
	var first, last int
	_, bad := fmt.Sscanf(r.Header.Get("X-Amz-Copy-Source-Range"), "bytes=%d-%d", &first, &last)
	if err != nil || bad != nil || first > last || last >= len(content) {
		http.Error(w, "<Error><Code>InvalidRange</Code></Error>", http.StatusBadRequest)
		return
	}
	if !s.matches(name, r.Header.Get("X-Amz-Copy-Source-If-Match")) {
		preconditionFailed(w)
		return
	}
	part := content[first : last+1]
	s.Copied.Add(int64(len(part)))
	put := r.Clone(r.Context())
	for name := range put.Header {
		if strings.HasPrefix(name, "X-Amz-Copy-") {
			put.Header.Del(name)
		}
	}
	put.Body, put.ContentLength = io.NopCloser(bytes.NewReader(part)), int64(len(part))
	put.Header.Set("Content-Length", strconv.Itoa(len(part)))
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, put)
	w.WriteHeader(answer.Code)
	fmt.Fprintf(w, "<CopyPartResult><ETag>%s</ETag></CopyPartResult>", answer.Header().Get("ETag"))
}
