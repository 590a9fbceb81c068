package bench

import (
	"fmt"
	"os"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/cpu"
)

// Open opens a device for timing: with keys in its memory where it has one of its own.
func Open(info device.Info) (Bed, error) {
	if info.Kind == device.CPU {
		return NewChunks(cpu.New()), nil
	}
	return NewResident(info)
}

// ReadFiles reads reports and joins them into one.
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
