package remotetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A store holds the objects of one Server. They are in the memory of the program in folder store, a module of its own
// that all servers of a test process share.
type store struct {
	base  *url.URL // the bucket is below it
	proxy *httputil.ReverseProxy
}

// stores is the number of stores so far. It distinguishes their names.
var stores atomic.Int64

// newStore returns a store with an empty bucket.
func newStore() (*store, error) {
	address, err := program()
	if err != nil {
		return nil, fmt.Errorf("the object store of the tests: %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	base.Path = "/" + strconv.FormatInt(stores.Add(1), 10)
	s := &store{base: base}
	s.proxy = &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(s.base) },
		Transport:    transport,
		ErrorLog:     log.New(io.Discard, "", 0), // tests break connections
		ErrorHandler: refuse,
	}
	_, _, err = s.request(http.MethodPut, "", nil)
	return s, err
}

// transport reuses connections even if a test sends many requests at a time.
var transport = &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}

// refuse answers a request that did not reach the store. Clients do not retry after this error.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	http.Error(w, "the object store of the tests: "+err.Error(), http.StatusBadRequest)
}

// request sends a request for an object, or for the bucket if name is empty, and returns the answer with its body.
func (s *store) request(method, name string, content []byte) (*http.Response, []byte, error) {
	where := *s.base
	where.Path += "/" + bucket + "/" + name
	request, err := http.NewRequest(method, where.String(), bytes.NewReader(content))
	if err != nil {
		return nil, nil, err
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(answer.Body)
	err = errors.Join(err, answer.Body.Close())
	if err == nil && answer.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: %s", method, name, answer.Status)
	}
	return answer, body, err
}

// tag returns the ETag of an object without its quotes, or "" if none exists.
func (s *store) tag(name string) string {
	answer, _, err := s.request(http.MethodHead, name, nil)
	if err != nil {
		return ""
	}
	return strings.Trim(answer.Header.Get("ETag"), `"`)
}

// remove frees the memory of all objects.
func (s *store) remove() {
	request := &http.Request{Method: http.MethodDelete, URL: s.base}
	if answer, err := transport.RoundTrip(request); err == nil {
		answer.Body.Close()
	}
}

// program starts the program of the stores once, and returns its URL.
var program = sync.OnceValues(startProgram)

func startProgram() (address string, err error) {
	folder, err := programFolder()
	if err != nil {
		return "", err
	}
	command := exec.Command("go", "run", ".")
	command.Dir = folder
	command.Env = append(
		os.Environ(),
		"GOOS=",
		"GOARCH=",
	) // this machine's, also if the tests run in an emulator
	var complaints bytes.Buffer
	command.Stderr = &complaints

	if _, err := command.StdinPipe(); err != nil { // the program ends when the system closes it
		return "", err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := command.Start(); err != nil {
		return "", err
	}
	address, err = bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf(
			"go run in %s: %w: %s",
			folder,
			errors.Join(err, command.Wait()),
			&complaints,
		)
	}
	go command.Wait() // until this process ends: it keeps the pipes of the program open
	return strings.TrimSpace(address), nil
}

// programFolder returns the folder of the program. It asks the go command, because a test that was built with -trimpath
// does not know its own folder. Looking at the program's files makes go test run the tests again when one of them has
// changed.
func programFolder() (string, error) {
	const pkg = "github.com/extsort/extsort/internal/remote/remotetest"
	output, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(output)), "store")
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return "", err
		}
	}
	return folder, nil
}
