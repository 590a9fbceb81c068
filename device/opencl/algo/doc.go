// Package algo holds the algorithms that sort keys in the memory of an OpenCL device: the kernels, one .cl file
// each, and the driver of each, which builds its kernels, computes its launches and runs its passes.
//
// All of them sort the same Data in place and stably, by a range of the key's bits, so that keys of several words
// can be sorted word by word, least significant first.
package algo
