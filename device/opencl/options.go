package opencl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/extsort/extsort/device"
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
	Algorithm   string  // one of Info.Algorithms; "": the device's choice
	DigitBits   int     // that a pass sorts by, of algorithms that leave it open; 0: as measured, or by the cost model
	Tuning      *Tuning // what was measured of the device, which the choice of algorithms and parameters uses; may be nil
}

// Select finds the devices that a user means by a word: the number of one, a kind ("gpu": all of that kind), or part
// of a name, in any case of letters.
func Select(list []device.Info, word string) ([]device.Info, error) {
	found := slices.DeleteFunc(slices.Clone(list), func(info device.Info) bool { return !meant(info, word) })
	if len(found) == 0 {
		return nil, fmt.Errorf("no device %q: see extsort devices", word)
	}
	return found, nil
}

func meant(info device.Info, word string) bool {
	if number, err := strconv.Atoi(word); err == nil {
		return info.Index == number
	}
	if slices.Contains([]device.Kind{device.CPU, device.GPU, device.Accelerator, device.OpenCLCPU}, device.Kind(word)) {
		return string(info.Kind) == word
	}
	return strings.Contains(strings.ToLower(info.Name), strings.ToLower(word))
}
