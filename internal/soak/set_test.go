package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSetsAreRead reads a set and detects errors in its index.
func TestSetsAreRead(t *testing.T) {
	const index = `{"schema":1,"records":3,"files":[
{"name":"out.000","records":2,"bytes":4},
{"name":"out.001","records":1,"bytes":2}
]}`
	for _, c := range []struct {
		what, old, new string // a replacement in the index
		want           string // text of the error; "": no error
	}{
		{what: "a true index"},
		{"another name", "out.001", "out.002", `file 1 of the set is "out.002", not "out.001"`},
		{"a file too few", `,
{"name":"out.001","records":1,"bytes":2}`, "", "the set has 1 files, not 2"},
		{"other bytes", `"bytes":2`, `"bytes":3`, "out.001 has 2 bytes, but its index says 3 bytes and 1 records"},
		{"other records", `"records":3`, `"records":4`, "the files of the set have 3 records, not 4"},
		{"no JSON", "{", "", "the index of the set: "},
	} {
		folder := t.TempDir()
		write := func(name, text string) {
			check(os.MkdirAll(filepath.Join(folder, "result"), 0o700))
			check(os.WriteFile(filepath.Join(folder, "result", name), []byte(text), 0o600))
		}
		write("out.000", "abcd")
		write("out.001", "ef")
		write("out.index", strings.Replace(index, c.old, c.new, 1))

		s := small()
		s.output = output{place: "file", split: 2}
		got, err := readSet(&trial{scenario: s, folder: folder})
		switch {
		case c.want == "" && (err != nil || string(got) != "abcdef"):
			t.Errorf("%s: %q, %v", c.what, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, not %q", c.what, err, c.want)
		}
		if err := checkNoSet(&trial{scenario: s, folder: folder}); err == nil {
			t.Errorf("%s: no file of the set is seen", c.what)
		}
	}
}
