// Package bench times the sorting algorithms of a device and sets the figures out in tables.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Case is one thing to time: an algorithm with its parameters on so many keys of a kind and a distribution. A Bed
// is a device on which cases are timed:
//
//	NewChunks    any device.Device, through its chunks, from memory to memory: the wall clock of Load, Sort and Store
//	NewResident  an OpenCL device, keys resident in its memory: the device's own clock, from the begin of the first
//	             kernel to the end of the last, so that neither the link nor the host count
//
// Run times a list of cases. Each case is sorted once before it counts, and that result is checked: in order, stable,
// and with the keys that were given. So a fast wrong answer is an error, not a figure.
//
// A View is a choice of cases and the tables made of their results. Besides the table of all algorithms there is one in
// the shape of each published table that these algorithms come from. Package plot draws the same results.
package bench
