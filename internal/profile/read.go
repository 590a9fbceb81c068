package profile

import (
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
)

const trialReads = 8 // blocks, from places all over the input

// ReadRate is how many bytes of an input one worker reads in a second: from the page cache or from a disk. The slowest
// read is left out: it may be the first that touched anything. 0: it cannot be read.
func ReadRate(files []*input.Input, recordSize int) float64 {
	block := make([]byte, max(blockBytes/recordSize, 1)*recordSize)
	clear(block) // so that it is not touched for the first time by the reading
	seconds, slowest := 0.0, 0.0
	sources := chunker.NewDataset(files).Split(trialReads)
	for _, src := range sources {
		start := time.Now()
		if _, n, err := src.Next(len(block)/recordSize, func(int64, int) []byte { return block }); err != nil || n == 0 {
			return 0
		}
		one := time.Since(start).Seconds()
		seconds, slowest = seconds+one, max(slowest, one)
	}
	if n := float64(len(sources)); n > 1 {
		seconds = (seconds - slowest) * n / (n - 1)
	}
	return float64(len(sources)*len(block)) / seconds
}
