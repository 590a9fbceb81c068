package profile

import (
	"cmp"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
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
