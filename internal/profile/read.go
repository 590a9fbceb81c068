package profile

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
)

const (
	trialReads   = 8        // blocks, from places all over the input
	stretchBytes = 64 << 20 // that are read on from one of them
)

// ReadRate is how many bytes of an input one worker reads in a second from the page cache, or all of them from a disk,
// which isDisk tells from a rate. Blocks here and there say which of both it is, by their median, since others may have
// been stopped on the way. But a disk has not much to do with one of them: what it gives when it is asked ahead, as a
// sort does, a stretch tells, and that may be as much as a page cache gives. 0: it cannot be read, or is too little to
// tell.
func ReadRate(ctx context.Context, files []*input.Input, isDisk func(rate float64) bool) (rate float64, fromDisk bool) {
	recordSize := files[0].Header.Layout().RecordSize
	sources := chunker.NewDataset(files).Split(trialReads)
	if len(sources) < trialReads || sources[0].Records()*int64(recordSize) < blockBytes {
		return 0, false
	}
	var rates []float64
	memory := make([]byte, max(blockBytes, recordSize))
	clear(memory) // so that it is not touched for the first time by the reading
	for _, src := range sources {
		rates = append(rates, readRate(ctx, src, recordSize, 1, 1, memory))
	}
	slices.Sort(rates)
	rate = rates[trialReads/2-1]
	readers := max(min(trialReads, blockBytes/recordSize), 1)
	if fromDisk = rate > 0 && isDisk(rate); fromDisk {
		rate = max(rate, readRate(ctx, sources[trialReads/2], recordSize, readers, stretchBytes, memory))
	}
	return rate, fromDisk
}

// readRate is the bytes/s at which some readers read src into memory, until they have so many or there are no more.
func readRate(ctx context.Context, src device.Source, recordSize, readers int, bytes int64, memory []byte) float64 {
	block := max(len(memory)/readers/recordSize, 1)
	rate, _ := rateOf(ctx, readers, bytes, trialTime, func(i int) (int, error) {
		_, n, err := src.Next(block, func(int64, int) []byte { return memory[i*block*recordSize:] })
		return n * recordSize, err
	})
	return rate
}

// rateOf is the bytes/s that some workers move, until they have so many, the time is over or there are no more.
func rateOf(ctx context.Context, workers int, bytes int64, most time.Duration, move func(worker int) (int, error),
) (float64, error) {
	var moved atomic.Int64
	start := time.Now()
	err := device.Each(ctx, workers, func(ctx context.Context, i int) error {
		for ctx.Err() == nil && moved.Load() < bytes && time.Since(start) < most {
			n, err := move(i)
			if moved.Add(int64(n)); n == 0 || err != nil {
				return err
			}
		}
		return nil
	})
	return float64(moved.Load()) / time.Since(start).Seconds(), err
}
