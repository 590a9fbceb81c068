package extsort

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/extsort/extsort/format"
)

// MinMemory is the smallest memory limit: the Go runtime and a handful of block buffers need about this much.
const MinMemory = 16 << 20

// systemMemory is the memory of this machine or, when that is less, of its cgroup, in bytes; 0: not known. It takes
// longer to find out than to sort a small file, and is asked for in several places.
var systemMemory = sync.OnceValue(func() int64 {
	least := uint64(0)
	for _, ask := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if bytes, err := ask(); err == nil && bytes > 0 {
			least = min(cmp.Or(least, bytes), bytes)
		}
	}
	return int64(least)
})

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
