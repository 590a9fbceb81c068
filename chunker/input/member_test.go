package input

import (
	"archive/zip"
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/format/formattest"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestMembers reads arrays of archives, also in numbers that require mapping, and distinguishes
// their identities.
func TestMembers(t *testing.T) {
	header := formattest.Header(t, format.Spec{Format: "npy", Type: "u64"})
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for i, name := range []string{"a.npy", "b.npy", "short.npy"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: []uint16{zip.Store, zip.Deflate, zip.Store}[i]})
		if err == nil {
			_, err = w.Write(append(header.Encode(10), bytes.Repeat([]byte{byte(i)}, 80)[i/2:]...))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "in.npz")
	testfiles.Write(t, name, archive.Bytes())
	identities := map[string]bool{}
	for i, member := range []string{"a", "b"} {
		kind := Kind{Spec: format.Spec{Format: "npz", Member: member}}
		for _, n := range []int{1, MaxOpen + 1} {
			inputs, err := Open(t.Context(), kind, Named(slices.Repeat([]string{name}, n)...), nil, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			for _, in := range inputs {
				all, err := io.ReadAll(in.Sequence())
				if err != nil || !bytes.Equal(all, bytes.Repeat([]byte{byte(i)}, 80)) || in.Records != 10 {
					t.Errorf("%s of %d: %x of %d records, %v", member, n, all, in.Records, err)
				}
			}
			identities[inputs[0].Identity()] = true
			if err := joinErrors(inputs, (*Input).Close); err != nil {
				t.Error(err)
			}
		}
	}
	if len(identities) != 2 {
		t.Errorf("two members are known as %v", identities)
	}
	for _, c := range []struct{ member, file, want string }{
		{"short", name, "partial last record at byte 200"},
		{"short", name, "in.npz: "},
		{"a", Stdin, "standard input: an archive in a pipe or a compressed file"},
	} {
		kind := Kind{Spec: format.Spec{Format: "npz", Member: c.member}}
		if _, err := Open(t.Context(), kind, Named(c.file), &archive, 1<<20); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.member, c.file, err, c.want)
		}
	}
}
