package format

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
)

// archive is a Zip archive of files, every other one deflated.
func archive(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, name := range names {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: []uint16{zip.Store, zip.Deflate}[i%2]})
		if err == nil {
			_, err = io.WriteString(w, npyFile(1, npyText("'<u2'"))+"0123456789")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func members(b []byte) ([]Member, error) { return Members(bytes.NewReader(b), int64(len(b))) }

func TestMembers(t *testing.T) {
	all, err := members(archive(t, "a.npy", "b.npy", "read.me", "dir/c.npy", "a.npy"))
	if err != nil || len(all) != 4 || all[2].Name != "dir/c" {
		t.Fatal(all, err)
	}
	for name, want := range map[string]*Member{"a": &all[3], "b.npy": &all[1], "dir/c": &all[2]} {
		m, err := ChooseMember(all, name)
		if err != nil || m != want {
			t.Fatalf("%s: %v, %v", name, m, err)
		}
		r, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || int64(len(data)) != m.Bytes || !bytes.HasSuffix(data, []byte("0123456789")) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for name, want := range map[string]string{
		"":     "has 4 arrays, so choose one with Record.Member NAME: a, b, dir/c, a",
		"d":    `contains no array "d", only a, b, dir/c, a`,
		".npy": "no array",
	} {
		if _, err := ChooseMember(all, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if m, err := ChooseMember(all[1:2], ""); err != nil || m.Name != "b" {
		t.Error(m, err)
	}
}

func TestDamagedArchives(t *testing.T) {
	whole := archive(t, "a.npy", "b.npy")
	for name, c := range map[string]struct {
		change func(b []byte)
		want   string
	}{
		"stored":   {func(b []byte) { b[bytes.Index(b, []byte("0123456789"))]++ }, "checksum error"},
		"deflated": {func(b []byte) { b[must(must(members(b))[1].file.DataOffset())+30] ^= 255 }, ""},
		"encrypted": {func(b []byte) {
			b[bytes.Index(b, []byte("PK\x01\x02"))+8] |= 1
		}, "encrypted"},
		"method": {func(b []byte) { b[bytes.Index(b, []byte("PK\x01\x02"))+10] = 12 }, "unsupported compression"},
	} {
		b := bytes.Clone(whole)
		c.change(b)
		all, err := members(b)
		for i := range all {
			var r io.ReadCloser
			if r, err = all[i].Open(); err == nil {
				_, err = io.ReadAll(r)
			}
			if err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestHugeDirectories refuses an archive with more members than memory is for, said or there.
func TestHugeDirectories(t *testing.T) {
	var names []string
	for i := range maxDirectory / 50 {
		names = append(names, fmt.Sprint(i, ".npy"))
	}
	if _, err := members(archive(t, names...)); err == nil || !strings.Contains(err.Error(), "directory is longer") {
		t.Errorf("many members: %v", err)
	}
	b := archive(t, "a.npy")
	end := bytes.LastIndex(b, []byte("PK\x05\x06"))
	end64 := make([]byte, 56+20)
	copy(end64, "PK\x06\x06")
	end64[24+5], end64[32+5] = 1, 1 // 2^40 records
	copy(end64[40:], b[end+12:end+16])
	copy(end64[48:], b[end+16:end+20])
	copy(end64[56:], "PK\x06\x07")
	const size = 1 << 50
	at := size - (len(b) - end) - len(end64) // their position
	binary.LittleEndian.PutUint64(end64[56+8:], uint64(at))
	end64[56+16] = 1
	last := bytes.Clone(b[end:])
	copy(last[8:], "\xff\xff\xff\xff")
	b = append(append(b[:end:end], end64...), last...)
	if _, err := Members(&sparse{b, size}, size); err == nil || !strings.Contains(err.Error(), "directory is longer") {
		t.Errorf("many members said: %v", err)
	}
}

// sparse is zeros followed by an archive.
type sparse struct {
	end  []byte
	size int64
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	clear(p)
	for i := range p {
		if at := off + int64(i) - (s.size - int64(len(s.end))); at >= 0 && at < int64(len(s.end)) {
			p[i] = s.end[at]
		}
	}
	return len(p), nil
}

func FuzzMembers(f *testing.F) {
	f.Add(archive(f, "a.npy", "b.npy"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := members(b)
		for i := range all {
			if r, err := all[i].Open(); err == nil {
				_, _ = (Spec{Format: "npz"}).ReadHeader(r, "x")
			}
		}
		if (err == nil) != (len(all) > 0) {
			t.Fatal(all, err)
		}
	})
}
