// Package tune finds the parameters with which the algorithms are fastest on an OpenCL device.
//
// Only the root package of this module is stable: this package may change in any version.
//
// Search times candidates on the device by package bench: work-group size, keys per work-item, digit width and sections
// of the two fast sorts for each kind of key, by coordinate descent within a budget of time; up to which size one of
// the selection sorts is faster than both; and the rates of the link and of sorting, which the planner asks for. The
// result is an opencl.Tuning, which package opencl stores and uses.
package tune
