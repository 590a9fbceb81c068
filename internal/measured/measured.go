// Package measured stores measurements of this machine and its devices as JSON files in the user's
// cache directory:
//
//	UserCacheDir()/extsort/tune/NAME-HASH.json
//
// HASH is computed from the name of the machine or device and from everything else that the
// measurements depend on, such as the version of a driver. If one of them changes, the file is no
// longer found, and the defaults apply until the next measurement.
package measured

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Path returns the name of the file for the measurements of a device or machine that depend on its
// name and on the other words.
func Path(name string, also ...string) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("store the measurements of %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{name}, also...), "\x00")))
	file := portableName(name) + "-" + hex.EncodeToString(sum[:4]) + ".json"
	return filepath.Join(folder, "extsort", "tune", file), nil
}

// maxPlain is the maximum length of the readable part of a file name.
const maxPlain = 60

// portableName replaces the characters that not every file system allows in a name.
func portableName(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return mapped[:min(len(mapped), maxPlain)]
}

// Save writes a value as JSON to a file, which appears completely or not at all.
func Save(name string, value any) error {
	content, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(name, append(content, '\n'))
}

// writeWhole writes a temporary file and renames it, so that no reader sees half of it.
func writeWhole(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Remove removes a file and returns its name, or "" if the file did not exist.
func Remove(name string) (string, error) {
	switch err := os.Remove(name); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("remove measurements: %w", err)
	}
	return name, nil
}
