//go:build !opencl

package house

const buildTags = ""
