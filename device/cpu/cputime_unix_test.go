//go:build unix

package cpu

import "golang.org/x/sys/unix"

// cpuSeconds is the processor time that the process has used: steadier than the clock where a
// machine is shared.
func cpuSeconds() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
