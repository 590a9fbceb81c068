package engine

import (
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/option"
)

// Describe returns the facts about a device that a plan needs. chunks contains the Keyer, the
// Algorithm and the Sample of the chunks.
func Describe(d device.Device, chunks device.ChunkOptions) plan.Device {
	described := DescribeInfo(d.Info(), 0)
	can := d.Capabilities(device.ChunkOptions{Keyer: chunks.Keyer, Algorithm: chunks.Algorithm})
	described.WholeRecords = can.WholeRecords
	described.Histogram = can.Histogram
	described.Selects = can.Selects
	described.SelectSeconds = can.SelectSeconds
	options := func(c plan.Chunk) device.ChunkOptions {
		opt := chunks
		opt.BlockBytes = c.BlockBytes
		opt.Workers = c.Workers
		opt.SourceRecords = c.SourceRecords
		return opt
	}
	described.Capacity = func(c plan.Chunk) int64 { return d.MaxRecords(options(c), c.MemoryBytes) }
	described.StoredBlock = func(c plan.Chunk, records int64) int {
		return d.BlockBytes(options(c), records)
	}
	return described
}

// DescribeInfo returns the facts that a plan needs to choose among devices. If maxMemory is not
// 0, it limits the memory to use.
func DescribeInfo(info device.Info, maxMemory int64) plan.Device {
	memory := info.MemoryBytes
	if maxMemory > 0 {
		memory = min(memory, maxMemory)
	}
	return plan.Device{
		Name:      info.Name,
		Host:      info.Host,
		Memory:    memory,
		Unified:   info.UnifiedMemory,
		LinkBytes: info.LinkRate,
		SortBytes: info.SortRate,
		GPU:       info.Automatic,
	}
}

// CanSort returns an error if a device does not support an algorithm or digits of the given
// width.
func CanSort(info device.Info, algorithm string, digitBits int) error {
	if algorithm != "" && !slices.Contains(info.Algorithms, algorithm) {
		return option.Errorf(
			option.Algorithm, " %q: device %d (%s) has %s", algorithm, info.Index, info.Name,
			strings.Join(info.Algorithms, ", "),
		)
	}
	if digitBits > 0 && !info.VariableDigits {
		return option.Errorf(
			option.DigitBits,
			" %d: device %d (%s) chooses its digits itself; name "+
				"an OpenCL device",
			digitBits, info.Index, info.Name,
		)
	}
	return nil
}
