//go:build opencl && cgo && linux

package cl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Compiled programs are kept in the user's cache folder, because compiling takes near a second and loading none of it.
// All of it is best effort: a cache that cannot be read or written only costs time.
//
// A file is named for the SHA-256 of device, driver, options and source, and holds
//
//	32 bytes  SHA-256 of what follows: a driver may crash on a damaged binary, so it is never shown one
//	…         the binary, as clGetProgramInfo gave it

// cacheEntry is the path of a program in the cache, "" where there is no cache. PoCL has one of its own, and to hand
// out a binary it compiles all kernels for every size of work-group, which takes seconds and can crash (3.1).
func cacheEntry(p *Properties, options, source string) string {
	if strings.HasPrefix(p.Platform, "Portable Computing Language") {
		return ""
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	h := sha256.New()
	for _, part := range []string{p.Platform, p.Name, p.Driver, p.Version, options, source} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return filepath.Join(folder, "extsort", "opencl", hex.EncodeToString(h.Sum(nil))+".bin")
}

func readCache(entry string) []byte {
	content, err := os.ReadFile(entry)
	if err != nil || len(content) <= sha256.Size {
		return nil
	}
	sum := sha256.Sum256(content[sha256.Size:])
	if !bytes.Equal(sum[:], content[:sha256.Size]) {
		return nil
	}
	return content[sha256.Size:]
}

// writeCache puts the file there by rename, so that nobody reads half of one.
func writeCache(entry string, compiled []byte) {
	if entry == "" || len(compiled) == 0 || os.MkdirAll(filepath.Dir(entry), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(entry), "new-*")
	if err != nil {
		return
	}
	sum := sha256.Sum256(compiled)
	_, err = f.Write(append(sum[:], compiled...))
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), entry) != nil {
		os.Remove(f.Name())
	}
}
