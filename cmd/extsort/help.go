package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// writeHelp writes what a command is for, its flags by groups and examples.
func writeHelp(cmd *cobra.Command, groups []group) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(cmd.Long))
	for _, g := range groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.flags.Name(), g.flags.FlagUsages())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if !cmd.HasParent() {
		b.WriteString(helpEnd)
	}
	io.WriteString(cmd.OutOrStdout(), b.String())
}

const rootLong = `
Sort large files of fixed-size binary records, out of core, on a GPU when there is one.

Usage:
  extsort [flags] [FILE ...]         sort FILEs ("-" or none: standard input) to standard output or -o
  extsort -c | -C [flags] [FILE]     check that FILE is sorted (-C: say nothing)
  extsort -m [flags] FILE ...        merge files that are already sorted
  extsort gen [flags]                write test data
  extsort plan [flags] [FILE ...]    show what a sort would do, and do nothing
  extsort devices                    list the devices a sort can use
  extsort bench [flags]              time the algorithms on a device, as tables and plots
  extsort tune [flags]               find the best parameters for a device and keep them
  extsort demo                       generate, sort out of core, verify, report: the tour for a newcomer
  extsort completion SHELL           print a completion script for bash, zsh, fish or powershell
A file named like a verb is given as ./gen.`

const rootExample = `  extsort -t u64 -o sorted.bin keys.bin          a file of 64-bit keys
  extsort -R 100 -k 0:bytes10 -S 2G in -o out    100-byte records by their first ten bytes, in 2 GiB
  extsort -R 12 -k 8:u32be -k 0:f64:desc in      by two fields, the second from the largest down
  extsort -f npy -k price:desc trades.npy -o t.npy
  zstd -dc keys.zst | extsort -t u32 --limit 10 | xxd
  extsort -c -t u64 sorted.bin && echo in order`

const helpEnd = `
TYPE is u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64, little-endian, or with "be" big-endian (u32be),
or bytesN: N bytes in the order of memcmp. Floats: -NaN < -Inf < ... < -0 < +0 < ... < +Inf < +NaN.
SIZE is in bytes, or has a suffix K M G T (powers of 1024; KB, KiB ... as they say).
Inputs compressed by gzip, zstd, s2, snappy, lz4 or bzip2 are recognised by their first bytes and read (--decompress);
files of other formats (.npy, .npz, .xz, Parquet, Arrow, HDF5, FITS ...) are refused under -t and -R (--raw: sorted).

SIGUSR1 (on BSD and macOS SIGINFO, Ctrl-T) shows how far a run is.

Exit status: 0 done, 1 a check found disorder, 2 anything else wrong.
`
