package format_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestToyContainer adds a container by a row of the table alone, and sorts files of it.
func TestToyContainer(t *testing.T) {
	format.RegisterToy(t)
	folder := t.TempDir()
	const file = "TOYFILE\x00\x04\x00\x09\x01\x00\x00\x05\x00\x09"
	in := filepath.Join(folder, "in")
	testfiles.Write(t, in, []byte(file))
	toy := format.Spec{Format: format.ToyName}
	for _, c := range []struct {
		name string
		opt  session.Options
		want string
	}{
		{"all", session.Options{Inputs: []string{in}}, "TOYFILE\x00\x04\x00\x05\x00\x09\x00\x09\x01\x00"},
		{"unique", session.Options{Inputs: []string{in, in}, Unique: true}, "TOYFILE\x00\x03\x00\x05\x00\x09\x01\x00"},
		{"reversed", session.Options{Inputs: []string{in}, Reverse: true, Limit: 1}, "TOYFILE\x00\x01\x01\x00"},
		{"a pipe", session.Options{Stdin: strings.NewReader(file), Unique: true}, "TOYFILE\x00\x03\x00\x05\x00\x09\x01\x00"},
	} {
		for _, toFile := range []bool{true, false} {
			opt := c.opt
			opt.Record = toy
			opt.TempDirs = []string{folder}
			var stream bytes.Buffer
			if toFile {
				opt.Output = filepath.Join(folder, "out")
			} else {
				opt.Stdout = &stream
			}
			if opt.Stdin != nil {
				opt.Stdin = strings.NewReader(file)
			}
			_, err := session.Sort(t.Context(), opt)
			got := stream.Bytes()
			if toFile && err == nil {
				got, err = os.ReadFile(opt.Output)
			}
			if err != nil || string(got) != c.want {
				t.Errorf("%s, a file %t: %q, %v, want %q", c.name, toFile, got, err, c.want)
			}
		}
	}

	for name, c := range map[string]struct {
		opt  session.Options
		want string
	}{
		"too many": {session.Options{Inputs: []string{in, in}, Record: toy}, "at most 5 records, but the output has 8"},
		"plain": {session.Options{Inputs: []string{in}, Record: format.Spec{Type: "u16"}},
			"this is a toy: play with it instead of Record.Type; or Options.Raw"},
		"unknown": {session.Options{Inputs: []string{in}, Record: format.Spec{Format: "x"}}, "ibin or toy"},
		"size":    {session.Options{Inputs: []string{in}, Record: format.Spec{Format: "toy", RecordSize: 2}}, "toy excludes"},
	} {
		c.opt.Output = filepath.Join(folder, "bad")
		c.opt.TempDirs = []string{folder}
		_, err := session.Sort(t.Context(), c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if help := format.ContainerHelp(); !strings.HasSuffix(help, "; toy: two-byte numbers") ||
		!slices.Contains(format.ContainerNames(), "toy") {
		t.Errorf("the help is %q", help)
	}
	if found, ok := format.ByMagic([]byte(file)); !ok || found.Name != "toy" {
		t.Errorf("its first bytes are recognised as %+v", found)
	}
}
