package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/internal/testfiles"
	"github.com/extsort/extsort/merge/output"
)

// splitFiles returns the decompressed contents of the files of a set.
func splitFiles(t *testing.T, name string) (files [][]byte) {
	t.Helper()
	text := testfiles.Read(t, name+".index")
	var index output.Index
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for _, entry := range index.Files {
		base := entry.Name
		if entry.RawName != nil { // not UTF-8
			base = string(entry.RawName)
		}
		file, err := os.ReadFile(filepath.Join(filepath.Dir(name), base))
		if err != nil || int64(len(file)) != entry.Bytes {
			t.Fatalf("%+v: %d bytes, %v", entry, len(file), err)
		}
		files = append(files, decompressed(t, file))
	}
	return files
}
