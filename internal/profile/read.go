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
	trialReads   = 8        // number of blocks, from evenly spaced positions in the input
	stretchBytes = 64 << 20 // number of bytes read sequentially from one of them
)

// ReadRate returns the read speed of an input in bytes/s: that of one worker if the input is in
// the page cache, and that of all workers if it is on a disk. It returns 0 if the input cannot be
// read or is too small.
//
// isDisk decides between the two by the median speed of single blocks at several positions; other
// values may be distorted by interruptions. Single blocks underestimate a disk, because a sort
// reads ahead. So the speed of a disk is measured with a longer sequential read. It may be as
// high as that of the page cache.
func ReadRate(
	ctx context.Context, files []*input.Input, isDisk func(rate float64) bool,
) (rate float64, fromDisk bool) {
	recordSize := files[0].Header.Layout().RecordSize
	sources := chunker.NewDataset(files).Split(trialReads)
	if len(sources) < trialReads ||
		sources[0].Records()*int64(recordSize) < blockBytes {
		return 0, false
	}
	var rates []float64
	memory := make([]byte, max(blockBytes, recordSize))
	clear(memory) // so that the measurement does not include the first access to the memory
	for _, src := range sources {
		rates = append(rates, readRate(ctx, src, recordSize, 1, 1, memory))
	}
	slices.Sort(rates)
	rate = rates[trialReads/2-1]
	readers := max(min(trialReads, blockBytes/recordSize), 1)
	if fromDisk = rate > 0 && isDisk(rate); fromDisk {
		rate = max(
			rate,
			readRate(
				ctx,
				sources[trialReads/2],
				recordSize,
				readers,
				stretchBytes,
				memory,
			),
		)
	}
	return rate, fromDisk
}

// readRate returns the speed in bytes/s at which several readers read src into memory, up to the
// given number of bytes.
func readRate(
	ctx context.Context, src device.Source, recordSize, readers int, bytes int64, memory []byte,
) float64 {
	block := max(len(memory)/readers/recordSize, 1)
	rate, _ := rateOf(ctx, readers, bytes, trialTime, func(i int) (int, error) {
		_, n, err := src.Next(block, func(_ int64, n int) []byte {
			return memory[i*block*recordSize:][:n*recordSize]
		})
		return n * recordSize, err
	})
	return rate
}

// rateOf returns the throughput of several workers in bytes/s. It stops after the given number of
// bytes, after the given time, or at the end of the data.
func rateOf(
	ctx context.Context, workers int, bytes int64, most time.Duration,
	move func(worker int) (int, error),
) (float64, error) {
	var moved atomic.Int64
	start := time.Now()
	err := device.Each(ctx, workers, func(ctx context.Context, i int) error {
		for ctx.Err() == nil && moved.Load() < bytes &&
			time.Since(start) < most {
			n, err := move(i)
			if moved.Add(int64(n)); n == 0 || err != nil {
				return err
			}
		}
		return nil
	})
	return float64(moved.Load()) / time.Since(start).Seconds(), err
}
