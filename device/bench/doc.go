// Package bench times the sorting algorithms of a device and prints the results as tables.
//
// Only the root package of this module is stable: this package may change in any version.
//
// A Case is one sort to time: an algorithm with its parameters, and the number, kind and
// distribution of the keys. A Bed is a device on which cases are timed:
//
//	NewChunks    any device.Device, through its chunks, from memory to memory: the wall-clock
//	             time of Load, Sort and Store
//	NewResident  an OpenCL device with keys in its memory: the time by the device's own clock,
//	             from the start of the first kernel to the end of the last one, without the
//	             link and the host
//
// Run times a list of cases. It sorts each case once before the timed runs and checks that the
// result is in order, stable, and contains the keys of the input. So a fast wrong answer is an
// error, not a measurement.
//
// A View is a selection of cases and the tables made from their results. There is a table of all
// algorithms, and one in the shape of each published table for these algorithms. Package plot
// draws the same results.
package bench
