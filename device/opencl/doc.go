// Package opencl sorts chunks on OpenCL devices: GPUs, as a rule.
//
// Only the root package of this module is stable: this package may change in any version.
//
// It is built with -tags opencl (and cgo, on Linux); without, Devices lists none and says why. A machine that lacks
// libOpenCL or a driver is no different from one that has no device.
//
// # Data flow
//
// A chunk lives in the memory of the device, and the host keeps only a ring of pinned staging slots, which the
// device reads and writes by itself. So the host's memory limit does not bound the chunk. Three in-order queues,
// one for each direction of the link and one for kernels, run at the same time and wait for each other by events:
//
//	Load    readers: Source.Next ─▶ slot ─ upload queue ─▶ device memory
//	Sort    kernel queue: normalize or extract keys ▸ sort (package algo) ▸ restore
//	Store   kernel queue: gather ─▶ download queue ─▶ slot ─▶ writers: BlockWriter.WriteBlock
//
// # What lies on the device
//
//	bare keys of up to 8 bytes   the keys as native words, twice (input and output of a pass)
//	all other layouts            the records, in up to 8 segments where one allocation is too small for them,
//	                             and beside them, twice, one word of the key and the record's 32-bit index
//
// Keys are normalized on the device, whatever their types, byte orders and directions. Words and
// bits that do not differ are skipped, which one survey (OR and AND of all keys) shows. Keys of several words are
// sorted by their most significant word alone, then if need be by twice as many and so on, least significant first.
// The records move once, when they are gathered piece by piece to be stored.
//
// # Start-up
//
// Opening a device costs nothing: its context is made in the background when the first chunk is, and kernels are
// built while the first records are read; drivers keep what they compiled.
package opencl
