package main

import (
	"errors"
	"os"
)

// settle brings the free memory of the machine into about the same state before every run, by writing and removing a
// file of the size of the data. Without it a run pays for what its predecessor did: on a virtual machine the host takes
// back the pages that a process with much memory has freed, and the next to touch them waits. There `cp` of 1 GiB took
// 0.27 s after another `cp`, 0.9 s after a process that had freed 2 GiB, and 0.37 s after that process and a file
// written and removed. A larger file does no good: it starts the writing of dirty pages to the disk.
func (shop *workshop) settle(bytes int64) error {
	const name = "settle"
	f, err := os.Create(shop.path(name))
	if err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	for left := min(bytes, shop.settleLimit); left > 0 && err == nil; left -= int64(len(block)) {
		_, err = f.Write(block[:min(left, int64(len(block)))])
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// settleLimit is a quarter of the memory: more would only go to the disk.
func settleLimit(m machine) int64 {
	if m.Memory == 0 {
		return 1 << 30
	}
	return m.Memory / 4
}
