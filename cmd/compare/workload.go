package main

import (
	"fmt"
	"strconv"
)

// A workload is one kind of data.
type workload struct {
	Name       string
	Title      string
	describe   []string // extsort flags that describe a record
	recordSize int
	keySize    int    // the key is at the beginning of the record
	dist       string // distribution for `extsort gen`
}

// allWorkloads lists the workloads in the order of the report.
var allWorkloads = []workload{
	{"u64", "64-bit keys, uniform", []string{"-t", "u64"}, 8, 8, "uniform"},
	{"u32", "32-bit keys, uniform", []string{"-t", "u32"}, 4, 4, "uniform"},
	{"u64-zipf", "64-bit keys, zipf", []string{"-t", "u64"}, 8, 8, "zipf"},
	{"u64-sorted", "64-bit keys, already sorted", []string{"-t", "u64"}, 8, 8, "sorted"},
	{"u64-few", "64-bit keys, few distinct", []string{"-t", "u64"}, 8, 8, "few"},
	{"gensort", "100-byte records, 10-byte keys", []string{"-f", "gensort"}, 100, 10, "uniform"},
}

func workloadNames() []string {
	var names []string
	for _, w := range allWorkloads {
		names = append(names, w.Name)
	}
	return names
}

// isNumber reports whether a record is a little-endian number. Otherwise, its key is a string of
// bytes.
func (w workload) isNumber() bool { return w.recordSize == w.keySize }

// numberType returns the type of a bare key, or gensort.
func (w workload) numberType() string { return w.describe[1] }

func (w workload) records(bytes int64) int64 {
	return max(bytes/int64(w.recordSize), 1)
}

// bytes returns the size of the data when size is rounded down to whole records.
func (w workload) bytes(size int64) int64 {
	return w.records(size) * int64(w.recordSize)
}

// generate returns the command that writes the workload to a file.
func (w workload) generate(size int64, file string) command {
	return append(append(command{"extsort", "gen"}, w.describe...),
		"-n", strconv.FormatInt(w.records(size), 10), "--dist", w.dist, "--seed", "1", "-o", file)
}

// describeSize returns the size of the data in words.
func (w workload) describeSize(size int64) string {
	return fmt.Sprintf(
		"%d records, %s", w.records(size), binarySize(w.bytes(size)),
	)
}
