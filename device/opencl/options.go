package opencl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl/algo"
	"github.com/extsort/extsort/device/opencl/cl"
)

// What callers distinguish by errors.Is: after any of them the same chunk can be sorted by another device.
var (
	ErrUnavailable = cl.ErrUnavailable // no OpenCL in this binary or on this machine
	ErrAllocation  = cl.ErrAllocation  // the device has less memory to give than it was asked for
	ErrBuild       = cl.ErrBuild       // the kernels cannot be built; the message has the build log's first lines
	ErrDevice      = cl.ErrDevice      // the device failed: lost, hung, or refusing a call
)

// Options say how a device is used. The zero value is the default.
type Options struct {
	MemoryBytes int64   // use no more than this of the device's memory; 0: all
	AllocBytes  int64   // make no single allocation larger than this; 0: as large as the device allows
	Algorithm   string  // one of Info.Algorithms; "": the device's choice
	DigitBits   int     // that a pass sorts by, of algorithms that leave it open; 0: as measured, or by the cost model
	Tuning      *Tuning // what was measured of the device, which the choice of algorithms and parameters uses; may be nil
}

func (o Options) validate() error {
	if o.MemoryBytes < 0 || o.AllocBytes < 0 {
		return fmt.Errorf("OpenCL device: negative limit (memory %d, allocation %d)", o.MemoryBytes, o.AllocBytes)
	}
	return algo.CheckDigitBits(o.Algorithm, o.DigitBits)
}

// Select finds the devices that a user means by a word: the number of one, a kind ("gpu": all of that kind), or part
// of a name, in any case of letters.
func Select(list []device.Info, word string) ([]device.Info, error) {
	number, err := strconv.Atoi(word)
	isNumber := err == nil
	var found []device.Info
	for _, info := range list {
		if isNumber && info.Index == number || !isNumber && meant(info, word) {
			found = append(found, info)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no device %q: `extsort devices` lists those there are", word)
	}
	return found, nil
}

func meant(info device.Info, word string) bool {
	if slices.Contains([]device.Kind{device.CPU, device.GPU, device.Accelerator, device.OpenCLCPU}, device.Kind(word)) {
		return string(info.Kind) == word
	}
	return strings.Contains(strings.ToLower(info.Name), strings.ToLower(word))
}
