package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/klauspost/cpuid/v2"
	"github.com/spf13/cobra"

	"github.com/extsort/extsort/device/opencl"
)

// Releases set these with -ldflags "-X main.releaseVersion=v0.1.0 …". Other builds use Go's build
// information.
var releaseVersion, releaseCommit, releaseDate string

func versionCommand() *cobra.Command {
	return verb("version", "Print the version, as -V and --version do.", "", &flagValues{},
		func(cmd *cobra.Command, _ []string) error {
			printVersion(cmd.OutOrStdout())
			return nil
		})
}

// printVersion prints the version in the first line, followed by the build and the features of
// the binary.
func printVersion(w io.Writer) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	commit := cmp.Or(releaseCommit, set["vcs.revision"], "unknown")
	fmt.Fprintln(
		w,
		"extsort",
		cmp.Or(releaseVersion, info.Main.Version, "(unknown version)"),
	)
	writeRows(w, []row{
		{"commit", commit + textIf(
			releaseCommit == "" && set["vcs.modified"] == "true",
			", with uncommitted changes",
		)},
		{"date", cmp.Or(releaseDate, set["vcs.time"], "unknown")},
		{"built by", runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH},
		{"features", describeFeatures()},
	})
}

// describeFeatures lists the optional features of this binary on this machine, and the build tags
// that add the missing ones.
func describeFeatures() string {
	var present, missing []string
	for _, tag := range []struct {
		name  string
		built bool
	}{
		{"opencl", opencl.Fingerprint() != ""}, // a binary with kernels has a fingerprint
		{"s3", hasS3},
	} {
		if tag.built {
			present = append(present, tag.name)
		} else {
			missing = append(missing, tag.name)
		}
	}
	if runtime.GOARCH == "amd64" &&
		cpuid.CPU.Supports(cpuid.AVX512F, cpuid.AVX512CD) {
		present = append(present, "avx512")
	}
	return cmp.Or(strings.Join(present, ", "), "none") +
		textIf(len(missing) > 0, " (to add %s, build with -tags %s)", strings.Join(missing, " and "),
			strings.Join(missing, ","))
}
