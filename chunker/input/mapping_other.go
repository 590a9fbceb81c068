//go:build !unix

package input

import "github.com/extsort/extsort/device"

func (in *Input) mapRecords(int64, int64) (device.Mapping, error) { return nil, nil }
