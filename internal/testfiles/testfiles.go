// Package testfiles reads and writes the files of tests. Every error ends the test. Race reports
// whether they run with the race detector.
package testfiles

import (
	"os"
	"path/filepath"
	"testing"
)

// Read returns the content of a file.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Write creates or replaces a file.
func Write(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Temp writes a file to a new directory and returns its path.
func Temp(t testing.TB, base string, data []byte) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), base)
	Write(t, name, data)
	return name
}

// Open opens a file with the flags of os.OpenFile. It is closed at the end of the test.
func Open(t testing.TB, name string, flags int) *os.File {
	t.Helper()
	file, err := os.OpenFile(name, flags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// Create creates or truncates a file, which is open for reading and writing until the end of the test.
func Create(t testing.TB, name string) *os.File {
	t.Helper()
	return Open(t, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Pipe returns the ends of a pipe, which are open until the end of the test.
func Pipe(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		read.Close()
		write.Close()
	})
	return read, write
}

// Names returns the sorted names in a directory.
func Names(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
