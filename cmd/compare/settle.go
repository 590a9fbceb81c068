package main

import (
	"errors"
	"os"
)

// settle brings the free memory of the machine into about the same state before every run, by
// writing and removing a file of the size of the data. Otherwise, a run pays for its predecessor:
// on a virtual machine, the host reclaims the pages that a process with much memory has freed,
// and the next process that touches them waits. For example, `cp` of 1 GiB took 0.27 s after
// another `cp`, 0.9 s after a process that had freed 2 GiB, and 0.37 s if a file was written and
// removed in between. A larger file does not help, because its dirty pages would be written to
// disk.
func (shop *workshop) settle(bytes int64) error {
	const name = "settle"
	f, err := os.Create(shop.path(name))
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for left := min(bytes, shop.settleLimit); left > 0 &&
		err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// settleLimit returns a quarter of the memory. The kernel would write more to disk.
func settleLimit(m machine) int64 {
	if m.Memory == 0 {
		return 1 << 30
	}
	return m.Memory / 4
}
