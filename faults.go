package extsort

import (
	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/merge"
)

// faults are the seams through which tests make operations fail: the dataset that is read, the device that
// sorts, the store that is spilled to and the file system of the output. A nil seam is the real thing.
type faults struct {
	wrapDataset func(chunker.Dataset) chunker.Dataset
	wrapDevice  func(device.Device) device.Device
	spillStore  chunker.Store
	outputFS    merge.FS
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

func (f *faults) store() chunker.Store {
	if f.spillStore == nil {
		return chunker.Disk{}
	}
	return f.spillStore
}
