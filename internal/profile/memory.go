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

// Memory is the memory of this machine or, when that is less, of its cgroup, in bytes; 0: not known. It takes longer
// to find out than to sort a small file, and is asked for in several places.
var Memory = sync.OnceValue(func() int64 {
	least := uint64(0)
	for _, ask := range []memlimit.Provider{memlimit.FromSystem, memlimit.FromCgroup} {
		if bytes, err := ask(); err == nil && bytes > 0 {
			least = min(cmp.Or(least, bytes), bytes)
		}
	}
	return int64(least)
})

// LimitMemory is what a run may use where limit bytes are asked for: not much more than there is, as all tells; 0: half
// of that, which leaves the rest to the page cache, through which all data goes, and to others.
func LimitMemory(limit, least int64, all func() int64) int64 {
	const small = 1 << 30 // or less is not worth asking how much there is
	if limit > 0 && limit <= small {
		return limit
	}
	switch m := all(); {
	case m <= 0:
		return cmp.Or(limit, small)
	case limit > 0:
		return min(limit, max(m, small)) // a stream may need all, nobody knows
	default:
		return max(m/2, least)
	}
}

// ParseMemory reads a limit as format.ParseLimit knows it, or a percentage of Memory.
func ParseMemory(s string) (int64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return format.ParseLimit(s)
	}
	percent, err := strconv.ParseFloat(digits, 64)
	if err != nil || percent <= 0 || percent > 100 {
		return 0, fmt.Errorf("size %q: a percentage must be from 1%% to 100%%", s)
	}
	m := Memory()
	if m == 0 {
		return 0, fmt.Errorf("size %q: the memory of this machine is not known: give a size such as 2G", s)
	}
	return int64(percent / 100 * float64(m)), nil
}
