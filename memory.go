package extsort

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/format"
	sinks "github.com/extsort/extsort/merge/output"
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about this much.
const MinMemory = 16 << 20

// systemMemory is the memory of this machine or, when that is less, of its cgroup, in bytes; 0: not known. It takes longer to find out
// than to sort a small file, and is asked for in several places.
var systemMemory = sync.OnceValue(func() int64 {
	machine, err := memlimit.FromSystem()
	if err != nil {
		machine = 0
	}
	group, err := memlimit.FromCgroup()
	if err == nil && group > 0 && (machine == 0 || group < machine) {
		machine = group
	}
	return int64(machine)
})

// cachedSpill is how many bytes of spill are read back from memory, in all likelihood.
func (j *job) cachedSpill() int64 {
	if !j.spillsToDisk() {
		return math.MaxInt64
	}
	return cacheable()
}

// spillsToDisk reports whether a folder of spill is on a disk.
func (j *job) spillsToDisk() bool { return slices.ContainsFunc(j.opt.TempDirs, isOnDisk) }

var isOnDisk = func(folder string) bool { return !spill.InMemory(folder) }

// cacheable is how many bytes the page cache holds until they are read, in all likelihood: Linux begins to write spill to the disk
// when what is dirty exceeds a tenth of the memory that is not in use.
func cacheable() int64 { return systemMemory() / 16 }

// mappableInput is how many bytes of input the page cache holds while they are sorted, in all likelihood, beside as many of
// output. Records that it has dropped would be read from the disk one by one.
func mappableInput() int64 { return systemMemory() / 4 }

// mappable is how many bytes of input may be left where they lie: none if the output is one of the inputs and may be written in its
// place, as where the user opened it for that (1<>FILE).
func (j *job) mappable() int64 {
	if j.writesTo() != nil {
		return 0
	}
	return mappableInput()
}

// writesTo is the input that is a file and the output, too, which is written in its place; nil: there is none.
func (j *job) writesTo() *input.Input {
	out, err := os.FileInfo(nil), os.ErrInvalid
	switch {
	case j.toStdout():
		out, err = statOf(j.opt.Stdout)
	case sinks.IsDescriptor(j.opt.Output):
		out, err = os.Stat(j.opt.Output)
	}
	if err != nil || !out.Mode().IsRegular() {
		return nil
	}
	for i, opened := range j.inputs {
		in, missing := os.Stat(opened.Name)
		if len(j.opt.Inputs) == 0 || j.opt.Inputs[i] == input.Stdin {
			in, missing = statOf(j.opt.Stdin)
		}
		if missing == nil && os.SameFile(out, in) {
			return opened
		}
	}
	return nil
}

// statOf is about a standard stream that is a file.
func statOf(stream any) (os.FileInfo, error) {
	if file, ok := stream.(interface{ Stat() (os.FileInfo, error) }); ok {
		return file.Stat()
	}
	return nil, os.ErrInvalid
}

// defaultMemory leaves half of the machine to the page cache, through which all data goes, and to others.
func defaultMemory() int64 {
	if m := systemMemory(); m > 0 {
		return max(m/2, MinMemory)
	}
	return 1 << 30
}

// ParseMemory reads a memory limit: a size as format.ParseSize knows it, or a percentage of the memory that
// the machine or its cgroup has.
func ParseMemory(s string) (int64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return format.ParseSize(s)
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || percent <= 0 || percent > 100 {
		return 0, fmt.Errorf("size %q: a percentage is from 1%% to 100%%", s)
	}
	m := systemMemory()
	if m == 0 {
		return 0, fmt.Errorf("size %q: the memory of this machine is not known; give bytes, for example 2G", s)
	}
	return int64(percent / 100 * float64(m)), nil
}

func humanBytes(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }
