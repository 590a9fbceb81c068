//go:build s3

package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

// TestRemoteScripts runs the scripts in testdata/remote, each with its own store and server. In
// addition to the commands of TestScripts, they can use
//
//	put FILE NAME      store FILE as s3://bucket/NAME and $HTTP/NAME
//	get NAME FILE      write the contents of s3://bucket/NAME to FILE
//	deny [CODE]        make the server answer 403 with CODE and the request; without CODE, normally
func TestRemoteScripts(t *testing.T) {
	commands := scriptCommands()
	serverOf := func(ts *testscript.TestScript) *remotetest.Server { return ts.Value("server").(*remotetest.Server) }
	commands["put"] = func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(serverOf(ts).Put(args[1], []byte(ts.ReadFile(args[0]))))
	}
	commands["get"] = func(ts *testscript.TestScript, neg bool, args []string) {
		content := serverOf(ts).Get(args[0])
		if (content == nil) != neg {
			ts.Fatalf("object %s: %d bytes", args[0], len(content))
		}
		if !neg {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), content, 0o644))
		}
	}
	commands["deny"] = func(ts *testscript.TestScript, _ bool, args []string) {
		serverOf(ts).Wrap(nil)
		if len(args) > 0 {
			serverOf(ts).Wrap(denied(args[0]))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/remote", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: commands,
		Setup: func(env *testscript.Env) error {
			server, err := remotetest.New()
			if err != nil {
				return err
			}
			env.Defer(server.Close)
			env.Values["server"] = server
			for name, value := range server.Env() {
				env.Setenv(name, value)
			}
			env.Setenv("HTTP", strings.TrimSuffix(server.HTTP(""), "/"))
			return os.Mkdir(filepath.Join(env.WorkDir, "spill"), 0o755)
		},
	})
}

// denied answers 403 and repeats secrets of the request, like stores that show the signed string.
func denied(code string) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(
				w,
				"<Error><Code>%s</Code><Message>an-access-key a-secret-key</Message><AWSAccessKeyId>an-access-key"+
					"</AWSAccessKeyId><StringToSign>a-secret-key</StringToSign></Error>",
				code,
			)
		})
	}
}

// TestRemoteExamples runs the examples on the page.
func TestRemoteExamples(t *testing.T) {
	remotetest.Start(t)
	checkPage(t, "../../docs/remote.md")
}
