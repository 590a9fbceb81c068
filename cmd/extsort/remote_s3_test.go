//go:build s3

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/extsort/extsort/internal/remote/remotetest"
)

func init() { hasS3 = true }

// TestRemoteScripts runs the scripts in testdata/remote beside a store and a server. Besides the commands of
// TestScripts they have
//
//	put FILE NAME      store FILE as s3://bucket/NAME and $HTTP/NAME
//	get NAME FILE      write what s3://bucket/NAME has
func TestRemoteScripts(t *testing.T) {
	server, err := remotetest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	commands := scriptCommands()
	commands["put"] = func(ts *testscript.TestScript, neg bool, args []string) {
		ts.Check(server.Put(args[1], []byte(ts.ReadFile(args[0]))))
	}
	commands["get"] = func(ts *testscript.TestScript, neg bool, args []string) {
		content := server.Get(args[0])
		if (content == nil) != neg {
			ts.Fatalf("object %s: %d bytes", args[0], len(content))
		}
		if !neg {
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), content, 0o644))
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/remote", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: commands,
		Setup: func(env *testscript.Env) error {
			for name, value := range server.Env() {
				env.Setenv(name, value)
			}
			env.Setenv("HTTP", strings.TrimSuffix(server.HTTP(""), "/"))
			return os.Mkdir(filepath.Join(env.WorkDir, "spill"), 0o755)
		},
	})
}

// TestRemoteExamples runs the examples of the page.
func TestRemoteExamples(t *testing.T) {
	server, err := remotetest.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	for name, value := range server.Env() {
		t.Setenv(name, value)
	}
	checkPage(t, "../../docs/remote.md")
}
