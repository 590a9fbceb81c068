package engine

import (
	"slices"
	"strings"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/option"
)

// Describe is what a plan needs to know of a device for records of these facts.
func Describe(d device.Device, f *plan.Facts) plan.Device {
	described := DescribeInfo(d.Info(), 0)
	can := d.Capabilities(device.ChunkOptions{Keyer: f.Keyer, Algorithm: f.Asked.Algorithm})
	described.WholeRecords, described.Histogram = can.WholeRecords, can.Histogram
	described.Selects, described.SelectSeconds = can.Selects, can.SelectSeconds
	options := func(c plan.Chunk) device.ChunkOptions {
		return device.ChunkOptions{
			Keyer: f.Keyer, BlockBytes: c.BlockBytes, Workers: c.Workers, Algorithm: f.Asked.Algorithm,
			Sample: f.Sample.Prefixes, SourceRecords: c.SourceRecords,
		}
	}
	described.Capacity = func(c plan.Chunk) int64 { return d.MaxRecords(options(c), c.MemoryBytes) }
	described.StoredBlock = func(c plan.Chunk, records int64) int { return d.BlockBytes(options(c), records) }
	return described
}

// DescribeInfo is what a plan needs to know to choose among devices, of which no more memory is used than maxMemory; 0:
// all.
func DescribeInfo(info device.Info, maxMemory int64) plan.Device {
	memory := info.MemoryBytes
	if maxMemory > 0 {
		memory = min(memory, maxMemory)
	}
	return plan.Device{
		Name: info.Name, Host: info.Host, Memory: memory, Unified: info.UnifiedMemory,
		LinkBytes: info.LinkRate, SortBytes: info.SortRate,
		GPU: info.Automatic,
	}
}

// CanSort says why a device cannot sort by an algorithm, or with digits of so many bits.
func CanSort(info device.Info, algorithm string, digitBits int) error {
	if algorithm != "" && !slices.Contains(info.Algorithms, algorithm) {
		return option.Errorf(option.Algorithm, " %q: device %d (%s) has %s", algorithm, info.Index, info.Name,
			strings.Join(info.Algorithms, ", "))
	}
	if digitBits > 0 && !info.VariableDigits {
		return option.Errorf(option.DigitBits, " %d: device %d (%s) chooses its digits by the data; name "+
			"an OpenCL device", digitBits, info.Index, info.Name)
	}
	return nil
}
