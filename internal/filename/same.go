package filename

import (
	"io/fs"
	"os"
	"strings"
)

// SameFile reports whether two names denote the same file, which need not exist. Terminals and
// /dev/null are never the same, because they may be used more than once.
func SameFile(a, b string) bool {
	if a == "" || b == "" || strings.Contains(a, "://") || strings.Contains(b, "://") {
		return a == b && a != ""
	}
	first, err := os.Stat(a)
	second, missing := os.Stat(b)
	if err == nil && missing == nil {
		return SameOpened(first, second)
	}
	if (err == nil) != (missing == nil) {
		return false
	}
	return Same(Real(a), Real(b))
}

// SameOpened is SameFile for files that exist.
func SameOpened(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Mode()&fs.ModeCharDevice == 0
}
