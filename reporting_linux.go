package extsort

import (
	"os"
	"strconv"
	"strings"
	"sync"
)

// hostTakesMemory reports whether this is a virtual machine whose host takes back what memory is free: some driver has told the
// kernel from which order of pages on it reports them (free page reporting; the parameter is 2^32-1 otherwise). To touch such memory
// again, the host has to give it again.
var hostTakesMemory = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/sys/module/page_reporting/parameters/page_reporting_order")
	if err != nil {
		return false
	}
	order, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	return err == nil && order < 64
})
