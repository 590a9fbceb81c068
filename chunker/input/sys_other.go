//go:build !linux

package input

import (
	"math"
	"os"
)

func willNeed(*os.File, int64, int64) {}

func fetchedBytes() int64 { return 0 }

func pathOf(f *os.File) string { return f.Name() }

func addressLimit() int64 { return math.MaxInt64 }

func growsByMap(*os.File, os.FileInfo) bool { return false }

func isCached(*os.File, int64) bool { return true }
