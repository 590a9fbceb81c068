package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is what go build knows of this binary: the module's version with the commit, and what it was built for.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown version)"
	}
	v := info.Main.Version
	if v == "" {
		v = "(unknown version)"
	}
	return fmt.Sprintf("%s, %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
