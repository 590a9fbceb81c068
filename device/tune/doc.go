// Package tune finds the parameters with which the algorithms are fastest on an OpenCL device, and keeps them.
//
// Search times candidates on the device by package bench: work-group size, keys per work-item, digit width and sections
// of the two fast sorts for each kind of key, by coordinate descent within a budget of time; up to which size one of
// the selection sorts is faster than both; and the rates of the link and of sorting, which the planner asks for. What
// is found is an opencl.Tuning.
//
// Save and Load keep a Tuning as JSON in the user's cache folder, one file for each device:
//
//	UserCacheDir()/extsort/tune/NAME-HASH.json
//
// where HASH is of the device's name, its driver and its kernels. So a new driver or new kernels find nothing, and the
// defaults hold until somebody tunes again. A file that is missing, damaged or of another version counts as none:
// tuning may only ever make a sort faster.
package tune
