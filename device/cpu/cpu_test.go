package cpu

import (
	"testing"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(testing.TB) device.Device { return New() })
}
