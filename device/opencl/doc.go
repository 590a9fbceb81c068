// Package opencl sorts chunks on OpenCL devices, which are usually GPUs.
//
// Only the root package of this module is stable: this package may change in any version.
//
// It requires -tags opencl, cgo and Linux. Without them, Devices returns an error that says so. A
// machine without libOpenCL or a driver is treated like one without devices.
//
// # Data flow
//
// A chunk is stored in the memory of the device. The host keeps only a ring of pinned staging
// slots, which the device reads and writes by itself. So the host's memory limit does not limit
// the chunk. Three in-order queues run at the same time and wait for each other by events: one
// for each direction of the link, and one for kernels:
//
//	Load    readers: Source.Next ─▶ slot ─ upload queue ─▶ device memory
//	Sort    kernel queue: normalize or extract keys ▸ sort (package algo) ▸ restore
//	Store   kernel queue: gather ─▶ download queue ─▶ slot ─▶ writers: BlockWriter.WriteBlock
//
// # Device memory
//
//	bare keys of up to 8 bytes   the keys as native words, twice (input and output of a pass)
//	all other layouts            the records, in up to 8 segments if they exceed one allocation,
//	                             and next to them, twice, one word of the key and the record's
//	                             32-bit index
//
// The device normalizes keys of all types, byte orders and directions. One survey (OR and AND of
// all keys) finds the words and bits that are the same in all keys; they are skipped. Keys of
// several words are sorted by their most significant word alone. If that is not enough, the number
// of words is doubled until it suffices; each attempt sorts by the least significant word first.
// The records move once: when they are gathered, piece by piece, to be stored.
//
// # Start-up
//
// Opening a device costs nothing. The first chunk starts to create its context in the background,
// and kernels are built while the first records are read. Drivers cache compiled kernels.
package opencl
