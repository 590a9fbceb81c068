package bench

import (
	"cmp"
	"context"
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/devicetest"
)

// TestCounting runs the conformance suite of devices with count-scan-reorder.
func TestCounting(t *testing.T) {
	devicetest.Run(t, func(testing.TB) device.Device { return counted{withCounting{cpu.New()}} })
}

// counted is a device whose default algorithm is countScanReorder.
type counted struct{ withCounting }

func (d counted) Capabilities(opt device.ChunkOptions) device.Capabilities {
	return d.withCounting.Capabilities(byCounting(opt))
}

func (d counted) MaxRecords(opt device.ChunkOptions, memoryBytes int64) int64 {
	return d.withCounting.MaxRecords(byCounting(opt), memoryBytes)
}

func (d counted) BlockBytes(opt device.ChunkOptions, records int64) int {
	return d.withCounting.BlockBytes(byCounting(opt), records)
}

func (d counted) NewChunk(ctx context.Context, opt device.ChunkOptions) (device.Chunk, error) {
	return d.withCounting.NewChunk(ctx, byCounting(opt))
}

func byCounting(opt device.ChunkOptions) device.ChunkOptions {
	opt.Algorithm = cmp.Or(opt.Algorithm, countScanReorder)
	return opt
}
