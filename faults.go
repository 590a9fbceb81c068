package extsort

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/device/opencl"
	sinks "github.com/extsort/extsort/merge/output"
)

// faults are the seams through which tests make operations fail: the dataset that is read, the device that
// sorts, the store that is spilled to and the file system of the output. A nil seam is the real thing. Two more
// make chunks and blocks so small that a few kilobytes are sorted as terabytes are.
type faults struct {
	wrapDataset func(chunker.Dataset) chunker.Dataset
	wrapDevice  func(device.Device) device.Device
	spillStore  spill.Store
	outputFS    sinks.FS

	chunkRecords int64 // most records of a chunk, at least those of a block; 0: what memory allows
	blockBytes   int   // size of blocks, 0: what suits the memory
	moreDevices  int   // CPU devices that are opened beside those that were asked for
	chosenGPU    bool  // the devices count as GPUs that the planner chose

	readBytes float64         // bytes/s that timeReads gives; 0: it reads
	gpus      []device.Device // in place of this machine's OpenCL devices, Info.Index counts from 1; nil: those
}

// capped is the capacity of a chunk where n records fit the memory.
func (f *faults) capped(n int64) int64 {
	if f.chunkRecords == 0 {
		return n
	}
	return min(n, f.chunkRecords)
}

// block is the size of blocks of whole records where n bytes suit the memory.
func (f *faults) block(n, recordSize int) int {
	if f.blockBytes == 0 {
		return n
	}
	return max(f.blockBytes/recordSize, 1) * recordSize
}

func (f *faults) dataset(d chunker.Dataset) chunker.Dataset {
	if f.wrapDataset == nil {
		return d
	}
	return f.wrapDataset(d)
}

func (f *faults) device(d device.Device) device.Device {
	if f.wrapDevice == nil {
		return d
	}
	return f.wrapDevice(d)
}

// devices are the devices that there are.
func (f *faults) devices() DeviceList {
	if f.gpus == nil {
		return Devices()
	}
	list := DeviceList{Devices: []device.Info{cpu.New().Info()}}
	for _, d := range f.gpus {
		list.Devices = append(list.Devices, d.Info())
	}
	return list
}

// mayHaveGPU reports whether devices may have more than the CPU.
func (f *faults) mayHaveGPU() bool { return len(f.gpus) > 0 || f.gpus == nil && opencl.Installed() }

func (f *faults) store() spill.Store {
	if f.spillStore == nil {
		return spill.Disk{}
	}
	return f.spillStore
}
