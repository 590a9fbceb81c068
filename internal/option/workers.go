package option

import (
	"fmt"
	"runtime"
)

// usefulWorkers is the number of workers that every machine allows. More of them only use memory, unless the machine
// has many processors.
const usefulWorkers = 256

// maxWorkers returns the largest value of Workers: 256, or more on a machine with many processors.
func maxWorkers() int {
	return max(usefulWorkers, 4*runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

// CheckWorkers returns an error unless n is a valid number of workers.
func CheckWorkers(n int) error {
	if most := maxWorkers(); n < 1 || n > most {
		return fmt.Errorf("%d: must be from 1 to %d", n, most)
	}
	return nil
}
