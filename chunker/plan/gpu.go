package plan

import "math"

// FastestGPU is faster than any GPU. If even this one does not pay, no driver needs to be started
// to list the GPUs.
var FastestGPU = Device{GPU: true, Memory: 1 << 40, LinkBytes: 64e9, SortBytes: 400e9}

// gpuShare is the fraction of a GPU's memory that records can use. The GPU needs room for all keys
// twice.
const gpuShare = 0.4

// GPUPays reports whether the sort is predicted to end sooner on a GPU than on the CPU, which is
// the device of f. Reading and writing files takes the same time with both and overlaps with the
// work of the GPU. If the data fits in the memory of only one of the two, a sort on the other has
// to spill it. An input of unknown size is sorted on the CPU, and data in order is copied.
func GPUPays(f *Facts, p *Profile, gpu Device) bool {
	if f.Records < 0 || f.ordered() || f.Mirrored() || f.Devices[0].Histogram {
		return false
	}
	return gpuGain(f, p, gpu) > 0
}

// gpuGain returns by how many seconds the sort is predicted to be faster.
func gpuGain(f *Facts, p *Profile, gpu Device) float64 {
	host, eq := p.price(f, f.Request.Workers)
	n, size := float64(f.Records), float64(f.recordSize())
	memory := gpu.Memory
	if gpu.Unified {
		memory = min(memory, f.Request.MemoryBytes)
	}
	onGPU := p.sortOnGPUs(p.assume(gpu), size, host)
	outOfCore := func(memory float64) float64 {
		if n*size <= memory {
			return 0
		}
		levels := math.Log2(max(n*size/memory+1, 2))
		return work{spills: 2 * n, waits: n * eq.store, merges: n * (levels + eq.follow)}.cost(host)
	}
	return n*host[sorts] + outOfCore(float64(f.Request.MemoryBytes)) -
		p.GPUStart - n*onGPU - outOfCore(gpuShare*float64(memory))
}
