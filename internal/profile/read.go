package profile

import (
	"slices"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
)

const trialReads = 8 // blocks, from places all over the input

// ReadRate is how many bytes of an input one worker reads in a second: from the page cache or from a disk. The median
// of some reads tells: others may have been stopped on the way. 0: it cannot be read.
func ReadRate(files []*input.Input, recordSize int) float64 {
	block := make([]byte, max(blockBytes/recordSize, 1)*recordSize)
	clear(block) // so that it is not touched for the first time by the reading
	var seconds []float64
	for _, src := range chunker.NewDataset(files).Split(trialReads) {
		start := time.Now()
		if _, n, err := src.Next(len(block)/recordSize, func(int64, int) []byte { return block }); err != nil || n == 0 {
			return 0
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	slices.Sort(seconds)
	return float64(len(block)) / seconds[len(seconds)/2]
}
