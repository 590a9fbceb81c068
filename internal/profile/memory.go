package profile

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/extsort/extsort/format"
)

// Memory returns the memory of this machine or, if less, of its cgroup, in bytes; 0 means not
// known. The result is cached, because finding it takes longer than sorting a small file.
var Memory = sync.OnceValue(func() int64 {
	least := uint64(0)
	for _, ask := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if bytes, err := ask(); err == nil && bytes > 0 {
			least = min(cmp.Or(least, bytes), bytes)
		}
	}
	return int64(least)
})

// LimitMemory returns the memory that a run may use. all returns the memory of the machine. If
// limit is not 0, the result is limit, but hardly more than the memory of the machine. Otherwise it
// is half of that memory, but at least least. The other half is left to the page cache and to other
// processes.
func LimitMemory(limit, least int64, all func() int64) int64 {
	const small = 1 << 30 // up to this limit, the memory of the machine does not matter
	if limit > 0 && limit <= small {
		return limit
	}
	switch m := all(); {
	case m <= 0:
		return cmp.Or(limit, small)
	case limit > 0:
		return min(limit, max(m, small)) // a stream of unknown length may need all of it
	default:
		return max(m/2, least)
	}
}

// ParseMemory parses a limit in the form of format.ParseLimit, or a percentage of Memory. A
// percentage that is less than one byte is an error, because 0 is the default limit.
func ParseMemory(s string) (int64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return format.ParseLimit(s)
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(percent > 0 && percent <= 100) { // NaN is neither
		return 0, fmt.Errorf(
			"size %q: a percentage must be more than 0%% and at most 100%%", s,
		)
	}
	m := Memory()
	if m == 0 {
		return 0, fmt.Errorf(
			"size %q: the memory of this machine is not known: give a size such as 2G", s,
		)
	}
	bytes := int64(percent / 100 * float64(m))
	if bytes == 0 {
		return 0, fmt.Errorf("size %q: it is less than one byte", s)
	}
	return bytes, nil
}
