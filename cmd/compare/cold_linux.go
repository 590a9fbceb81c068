package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// diskCounters returns the traffic of the disk that contains a directory, since the machine
// started and for all processes. It is zero if the file system does not report its disk.
func diskCounters(dir string) traffic {
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) != nil {
		return traffic{}
	}
	device := uint64(stat.Dev)
	text, err := os.ReadFile(
		fmt.Sprintf(
			"/sys/dev/block/%d:%d/stat", unix.Major(device), unix.Minor(device),
		),
	)
	if err != nil {
		return traffic{}
	}
	return parseDiskCounters(string(text))
}

// parseDiskCounters reads the file stat of a disk: requests, merged requests, sectors and
// milliseconds, for reads and then for writes. A sector is always 512 bytes there.
func parseDiskCounters(text string) traffic {
	var reads, merged, sectorsRead, readTime, writes, mergedWrites, sectorsWritten int64
	if _, err := fmt.Fscan(strings.NewReader(text),
		&reads, &merged, &sectorsRead, &readTime, &writes, &mergedWrites, &sectorsWritten); err != nil {
		return traffic{}
	}
	return traffic{read: sectorsRead * 512, written: sectorsWritten * 512}
}

// maxLeft limits the pages that may stay in the page cache after dropping a file: one in 64.
const maxLeft = 64

// dropPages drops a file from the page cache. REQUIRES: its pages are on disk.
func dropPages(name string) (err error) {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		return fmt.Errorf("drop the pages of %s: %w", name, err)
	}
	left, err := cachedBytes(f)
	if err == nil && left > info.Size()/maxLeft {
		err = fmt.Errorf(
			"%s of %s are still in the page cache", binarySize(left), name,
		)
	}
	return err
}

// cachedBytes returns how much of a file is in the page cache. It returns 0 if the kernel is
// older than 6.5.
func cachedBytes(f *os.File) (int64, error) {
	var stat unix.Cachestat_t
	err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{}, &stat, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return 0, nil
	}
	return int64(stat.Cache) * int64(os.Getpagesize()), err
}
