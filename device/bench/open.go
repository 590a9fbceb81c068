package bench

import (
	"context"
	"fmt"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
	"github.com/extsort/extsort/internal/drivers"
)

// Open opens a device for timing. An OpenCL device keeps the keys in its memory; any other device
// is timed by chunks. For the CPU there is an additional algorithm for comparison,
// count-scan-reorder.
func Open(ctx context.Context, info device.Info) (Bed, error) {
	if opencl.Owns(info) {
		return NewResident(info)
	}
	d, err := drivers.Open(ctx, info, device.OpenOptions{})
	if err != nil {
		return nil, err
	}
	if info.Host {
		d = withCounting{d}
	}
	return NewChunks(d), nil
}

// ReadFiles reads several reports and joins them into one.
func ReadFiles(names []string) (Report, error) {
	var reports []Report
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return Report{}, err
		}
		r, err := ReadReport(file)
		file.Close()
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		reports = append(reports, r)
	}
	return Join(reports[0], reports[1:]...), nil
}
