package plan

import "math"

// FastestGPU is a GPU that none exceeds by so much that it would matter: where even that does not pay, no
// driver need be started to find out which GPUs there are.
var FastestGPU = Device{GPU: true, Memory: 1 << 40, LinkBytes: 64e9, SortBytes: 400e9}

// gpuShare is the part of a GPU's memory that records can have: keys lie there twice.
const gpuShare = 0.4

// GPUPays reports whether the sort is predicted to end sooner on a GPU than on the CPU, whose facts f are.
// Reading and writing files takes the same time with both, and goes on while the GPU works; but what fits the
// memory of only one of them need not be spilled there. An input of unknown size is sorted on the CPU, and what
// is in order is copied.
func GPUPays(f *Facts, p *Profile, gpu Device) bool {
	if f.Records < 0 || f.ordered() || f.Mirrored() || f.Devices[0].Histogram {
		return false
	}
	return gpuGain(f, p, gpu) > 0
}

// gpuGain is by how many seconds the sort is predicted to be faster.
func gpuGain(f *Facts, p *Profile, gpu Device) float64 {
	host := p.price(f, f.Request.Workers)
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
		return work{stores: n, fetches: n, merges: n * levels, follows: n}.cost(host)
	}
	return n*host[sorts] + outOfCore(float64(f.Request.MemoryBytes)) -
		p.GPUStart - n*onGPU - outOfCore(gpuShare*float64(memory))
}
