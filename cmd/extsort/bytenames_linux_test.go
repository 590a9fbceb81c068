package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestNamesInJSON sorts a file to another file. Neither name is valid UTF-8. It looks for both
// names in all the JSON output of the command: the readable fields must be valid UTF-8, and the
// _base64 fields must contain the exact names.
func TestNamesInJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	const in, out, folder = "a\xffb", "b\xffc", "t\xff"
	if err := os.WriteFile(in, []byte("CABACA"), 0o600); err != nil {
		t.Skipf("the file system has no such names: %v", err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "checkpoint")

	for _, c := range []struct {
		args []string
		raw  map[string]string // names that aren't valid UTF-8, by their paths in the JSON
		fail string            // the error in the JSON
	}{
		{args: []string{"-t", "u8", "--stats=json", "-o", out, in}},
		{args: []string{"-t", "u8", "--stats=json", "--explain", "-T", folder, "-o", out, in},
			raw: map[string]string{"/plan/temp_dirs_base64/0": folder}},
		{args: []string{"-t", "u8", "-c", "--stats=json", out}},
		{args: []string{"-t", "u16", "--skip-bytes", "1", "--stats=json", "-o", out, in},
			fail: `a\xffb: partial last record`},
		{args: []string{"plan", "-t", "u8", "-T", folder, "--stats=json", "-o", out, in},
			raw: map[string]string{"/temp_dirs_base64/0": folder}},
		{args: []string{"plan", "-t", "u8", "--checkpoint", path, "--stats=json", "-o", out, in},
			raw: map[string]string{"/temp_dirs_base64/0": path, "/checkpoint/folder_base64": path}},
		{args: []string{"info", "-t", "u8", "--json", in}, raw: map[string]string{"/file_base64": in}},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), c.args, nil, &stdout, &stderr)
		text := append(stdout.Bytes(), stderr.Bytes()...)
		line := text[max(bytes.Index(text, []byte(`{"schema"`)), 0):]
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil || !utf8.Valid(text) {
			t.Fatalf("%q: %v in %q", c.args, err, text)
		}
		raw := map[string]string{}
		collectRaw(t, raw, "", object)
		if !maps.Equal(raw, c.raw) {
			t.Errorf("%q: the names are %q, want %q, in %s", c.args, raw, c.raw, line)
		}
		if failed, _ := object["error"].(string); (failed != "") != (c.fail != "") || !strings.HasPrefix(
			failed,
			c.fail,
		) {
			t.Errorf("%q: error %q, want %q", c.args, failed, c.fail)
		}
	}
	if got, err := os.ReadFile(out); err != nil || string(got) != "AAABCC" {
		t.Errorf("the output has %q, %v", got, err)
	}
}

// collectRaw collects the names in fields that end in _base64, by their paths.
func collectRaw(t *testing.T, raw map[string]string, path string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			collectRaw(t, raw, path+"/"+key, inner)
		}
	case []any:
		for i, inner := range value {
			collectRaw(t, raw, fmt.Sprintf("%s/%d", path, i), inner)
		}
	case string:
		if !strings.Contains(path, "_base64") {
			return
		}
		name, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			t.Error(err)
		}
		raw[path] = string(name)
	}
}
