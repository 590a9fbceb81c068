// Package tune finds the fastest parameters of the algorithms for an OpenCL device.
//
// Only the root package of this module is stable: this package may change in any version.
//
// Search times candidates on the device with package bench. For each kind of key and both fast
// sorts, it searches for the best work-group size, keys per work-item, digit width and number of
// sections, by coordinate descent within a limited time. It also finds the size up to which a
// selection sort is faster than both, and the rates of the link and of sorting, which the planner
// needs. The result is an opencl.Tuning, which package opencl stores and uses.
package tune
