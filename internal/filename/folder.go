package filename

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// maxLinks limits the number of symbolic links to follow.
const maxLinks = 40

// Real returns the absolute path of a file without symbolic links. If the file does not exist, it
// follows a dangling link and resolves the directory.
func Real(name string) string {
	for range maxLinks {
		link, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(link) {
			folder, _ := filepath.Split(name)
			link = folder + link
		}
		name = link
	}
	folder, base := filepath.Split(name)
	if real, err := filepath.EvalSymlinks(folder + "."); err == nil {
		folder = real
	}
	if full, err := filepath.Abs(folder); err == nil {
		folder = full
	}
	return filepath.Join(folder, base)
}

// Same compares names with the default rules of the system's file systems.
func Same(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// IsWithin reports whether a name denotes a file in a directory or below it. Neither needs to
// exist. If one of them is "", or the file is a URL, it returns false.
func IsWithin(name, folder string) bool {
	if name == "" || folder == "" || strings.Contains(name, "://") {
		return false
	}
	folder = Real(folder)
	name = Real(name)
	for name != filepath.Dir(name) {
		name = filepath.Dir(name)
		if isDirectory(name, folder) {
			return true
		}
	}
	return false
}

// isDirectory reports whether two real paths denote the same directory, which need not exist.
func isDirectory(a, b string) bool {
	if Same(a, b) {
		return true
	}
	first, err := os.Stat(a)
	second, missing := os.Stat(b)
	return err == nil && missing == nil && os.SameFile(first, second)
}
